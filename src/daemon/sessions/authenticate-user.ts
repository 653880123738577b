import { LRUCache } from 'lru-cache'
import { bearerToken, type Clock, type PlatformPrincipal, problem, type TenantId, type UserId } from '../../core/kit/index.ts'
import { credentialForm } from '../../core/sessions/index.ts'
import { capabilitiesOf, matrixUserIdOf } from '../../core/users/index.ts'
import { orUnavailable } from '../auth/index.ts'
import type { SessionsDeps } from './deps.ts'
import { type FoundSession, validSession } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'keys' | 'revocations' | 'roles'>

export type AuthenticateUser = (authorization: string | undefined) => Promise<PlatformPrincipal>

/**
 * Authenticates a user by its platform token. The token names the session; session, user, tenant and roles are read from the database and cached.
 * A revocation drops the cache entry within a second on every replica. While revocations cannot be read, every call reads the database. Throws
 * UNAUTHENTICATED, INVALID_MATRIX_TOKEN or, without a database, UNAVAILABLE.
 */
export function authenticateUser(deps: Deps): AuthenticateUser {
  const findPrincipal = principalCache(deps)
  return async (authorization) => {
    const token = platformToken(authorization)
    const claims = await orUnavailable(() => deps.keys.verify(token))
    const cached = await findPrincipal(claims.fam)
    const isSameUser = cached?.principal.matrixUserId === claims.sub && cached.principal.tenantId === claims.tid
    if (!cached || !isSameUser || cached.expiresAtMs <= deps.clock.now().getTime())
      throw problem('UNAUTHENTICATED', 'The session has ended. fix: refresh it, or log in again')
    return cached.principal
  }
}

function platformToken(authorization: string | undefined): string {
  const token = bearerToken(authorization)
  if (!token) throw problem('UNAUTHENTICATED', 'No platform token. fix: send `Authorization: Bearer` with the `token` of a login')
  const form = credentialForm(token)
  if (form === 'matrix')
    throw problem('INVALID_MATRIX_TOKEN', 'This is a chat token. fix: send the `token` of the login instead of `matrixAccessToken`')
  if (form === 'other') throw problem('UNAUTHENTICATED', 'This is not a platform token. fix: send the `token` of a login')
  return token
}

type CachedPrincipal = Readonly<{ principal: PlatformPrincipal; expiresAtMs: number; readAtMs: number }>

const maxCached = 20_000
/** Entries are read again after this time even without a revocation. */
const maxAgeMs = 5 * 60_000

function principalCache({ db, clock, revocations, roles }: Deps): (sessionId: string) => Promise<CachedPrincipal | undefined> {
  const cache = new LRUCache<string, CachedPrincipal>({ max: maxCached })
  revocations.onRevoked((revoked) => {
    if (revoked === 'everything') return cache.clear()
    if (revoked.kind === 'user-session') return void cache.delete(revoked.subject)
    if (revoked.kind === 'user') evict(cache, ({ userId }) => userId === revoked.subject)
    if (revoked.kind === 'tenant') evict(cache, ({ tenantId }) => tenantId === revoked.subject)
  })
  const read = async (sessionId: string): Promise<CachedPrincipal | undefined> => {
    const session = await orUnavailable(() => validSession(db, clock, sessionId))
    return session && toCached(session, capabilitiesOf(roles, session), clock)
  }
  return async (sessionId) => {
    const cached = cache.get(sessionId)
    if (cached && revocations.fresh() && clock.monotonicMs() - cached.readAtMs < maxAgeMs) return cached
    const position = revocations.position()
    const found = await read(sessionId)
    // A row read before a revocation is valid for this call, which began before it too, but must not be cached.
    if (found && revocations.position() === position) cache.set(sessionId, found)
    else cache.delete(sessionId)
    return found
  }
}

function evict(cache: LRUCache<string, CachedPrincipal>, matches: (principal: PlatformPrincipal) => boolean): void {
  for (const [key, { principal }] of cache) if (matches(principal)) cache.delete(key)
}

const toCached = (session: FoundSession, capabilities: PlatformPrincipal['capabilities'], clock: Clock): CachedPrincipal => ({
  principal: {
    kind: 'user',
    userId: session.userId as UserId,
    matrixUserId: matrixUserIdOf(session.localpart, session.chatDomain),
    tenantId: session.tenantId as TenantId,
    tenantSlug: session.tenantSlug,
    sessionId: session.id,
    roles: session.roles,
    capabilities,
  },
  expiresAtMs: Date.parse(session.expiresAt),
  readAtMs: clock.monotonicMs(),
})
