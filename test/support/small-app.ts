import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { manualClock, problem } from '../../src/core/kit/index.ts'
import type { PlatformPrincipal } from '../../src/core/sessions/index.ts'
import { buildApp, makeMetrics, type Served } from '../../src/daemon/http/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'

/** Endpoints mounted as the daemon mounts them, on a port of their own; the token of a user is its name, and good as long as it is in `users`. */
export async function aSmallApp(served: readonly Served[], users: Readonly<Record<string, PlatformPrincipal>> = {}) {
  const platform = async (authorization?: string) => {
    const user = users[authorization?.replace('Bearer ', '') ?? '']
    if (!user) throw problem('UNAUTHENTICATED', 'nobody has this token')
    return user
  }
  const app = buildApp(served, {
    authenticate: { platform } as never,
    clock: manualClock(),
    random: systemRandom,
    log: silentLogger(),
    metrics: makeMetrics(),
    trustedProxies: [],
    draining: new AbortController().signal,
    validateAnswers: true,
  })
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
