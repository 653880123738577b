import { type Clock, manualClock, type PlatformPrincipal, problem } from '../../src/core/kit/index.ts'
import type { Served } from '../../src/daemon/http/index.ts'
import { servedApp } from './served-app.ts'

/** An app for users; the token of a user is its name, valid while it is in `users`. */
export function aSmallApp(
  served: readonly Served[],
  users: Readonly<Record<string, PlatformPrincipal>> = {},
  clock: Clock = manualClock(),
) {
  const platform = async (authorization?: string) => {
    const user = users[authorization?.replace('Bearer ', '') ?? '']
    if (!user) throw problem('UNAUTHENTICATED', 'nobody has this token')
    return user
  }
  return servedApp(served, { authenticate: { platform }, clock })
}
