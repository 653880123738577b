import { LRUCache } from 'lru-cache'
import { bearerToken, type PlatformPrincipal, problem, type TenantId, type UserId } from '../../core/kit/index.ts'
import { credentialForm } from '../../core/sessions/index.ts'
import { capabilitiesOf, matrixUserIdOf } from '../../core/users/index.ts'
import { orUnavailable } from '../auth/index.ts'
import type { SessionsDeps } from './deps.ts'
import { type FoundSession, validSession } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'keys' | 'revocations' | 'roles'>

/** `setup`: also a user who must still replace an initial password. */
export type AuthenticateUser = (authorization: string | undefined, access?: Readonly<{ setup?: boolean }>) => Promise<PlatformPrincipal>

/**
 * Authenticates a user by its platform token. The token names the session; session, user, tenant and roles are read from the database and cached,
 * and so is that a session has ended. A revocation drops the cache entry within a second on every replica. While revocations cannot be read, every call reads the database. Throws
 * UNAUTHENTICATED, INVALID_MATRIX_TOKEN, SETUP_REQUIRED or, without a database, UNAVAILABLE.
 */
export function authenticateUser(deps: Deps): AuthenticateUser {
  const findPrincipal = principalCache(deps)
  return async (authorization, { setup = false } = {}) => {
    const token = platformToken(authorization)
    const claims = await orUnavailable(() => deps.keys.verify(token))
    const found = await findPrincipal(claims.fam)
    const isSameUser = found?.principal.matrixUserId === claims.sub && found.principal.tenantId === claims.tid
    if (!found || !isSameUser || found.expiresAtMs <= deps.clock.now().getTime())
      throw problem('UNAUTHENTICATED', 'The session has ended. fix: refresh it, or log in again')
    if (found.hasInitialPassword && !setup)
      throw problem('SETUP_REQUIRED', 'Your password is an initial one. fix: choose your own with POST /api/auth/v1/change-password')
    return found.principal
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

type FoundPrincipal = Readonly<{ principal: PlatformPrincipal; expiresAtMs: number; hasInitialPassword: boolean }>
/** `found` is undefined for a session that is not valid: each call with its token would read the database. */
type Cached = Readonly<{ found: FoundPrincipal | undefined; readAtMs: number }>

const maxCached = 20_000
/** Entries are read again after this time even without a revocation. */
const maxAgeMs = 5 * 60_000

function principalCache({ db, clock, revocations, roles }: Deps): (sessionId: string) => Promise<FoundPrincipal | undefined> {
  const cache = new LRUCache<string, Cached>({ max: maxCached })
  revocations.onRevoked((revoked) => {
    if (revoked === 'everything') return cache.clear()
    if (revoked.kind === 'user-session') return void cache.delete(revoked.subject)
    if (revoked.kind === 'user') evict(cache, ({ userId }) => userId === revoked.subject)
    if (revoked.kind === 'tenant') evict(cache, ({ tenantId }) => tenantId === revoked.subject)
  })
  const read = async (sessionId: string): Promise<FoundPrincipal | undefined> => {
    const session = await orUnavailable(() => validSession(db, clock, sessionId))
    return session && toPrincipal(session, capabilitiesOf(roles, session))
  }
  return async (sessionId) => {
    const cached = cache.get(sessionId)
    if (cached && revocations.fresh() && clock.monotonicMs() - cached.readAtMs < maxAgeMs) return cached.found
    const position = revocations.position()
    const found = await read(sessionId)
    // A row read before a revocation is valid for this call, which began before it too, but must not be cached.
    if (revocations.position() === position) cache.set(sessionId, { found, readAtMs: clock.monotonicMs() })
    else cache.delete(sessionId)
    return found
  }
}

/** A session that is not valid may be one of the user or tenant that is active again. */
function evict(cache: LRUCache<string, Cached>, matches: (principal: PlatformPrincipal) => boolean): void {
  for (const [key, { found }] of cache) if (!found || matches(found.principal)) cache.delete(key)
}

const toPrincipal = (session: FoundSession, capabilities: PlatformPrincipal['capabilities']): FoundPrincipal => ({
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
  hasInitialPassword: session.hasInitialPassword,
})
