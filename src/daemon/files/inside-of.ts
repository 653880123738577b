import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { openSpace } from '../spaces/index.ts'
import type { FilesDeps, OfSpace } from './deps.ts'

type Deps = Pick<FilesDeps, 'db' | 'revocations'>

/**
 * Rejects as soon as the caller may not enter the space any more; to be asked as often as one likes until `over` aborts. The database is asked once,
 * then when the revocations name the space, and whenever they cannot be read.
 */
export function insideOf(
  { db, revocations }: Deps,
  actor: PlatformPrincipal,
  { spaceId, over }: OfSpace & Readonly<{ over: AbortSignal }>,
): () => Promise<void> {
  let isSure = false
  const forget = revocations.onRevoked((revoked) => {
    if (revoked === 'everything' || (revoked.kind === 'space' && revoked.subject === spaceId)) isSure = false
  })
  over.addEventListener('abort', forget, { once: true })
  return async () => {
    if (isSure && revocations.fresh()) return
    isSure = true // a revocation that comes while the database is asked says otherwise again
    await openSpace(db, actor, { spaceId, right: 'enter' })
  }
}
