import { type Clock, type PlatformPrincipal, problem, type TenantId, type UserId } from '../../core/kit/index.ts'
import { credentialForm } from '../../core/sessions/index.ts'
import { capabilitiesOf, matrixUserIdOf } from '../../core/users/index.ts'
import { orUnavailable } from '../auth/index.ts'
import type { SessionsDeps } from './deps.ts'
import { type FoundSession, standingSession } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'keys' | 'revocations' | 'roles'>

export type AuthenticateUser = (authorization: string | undefined) => Promise<PlatformPrincipal>

/**
 * Turns `Bearer …` into the user who calls. The token says which session; session, user, tenant and roles come from the record, kept in memory
 * and dropped as soon as the revocations name one of them, so what is ended is over on every replica within a second. When the revocations cannot
 * be read for a second, every call asks the database. Throws UNAUTHENTICATED, INVALID_MATRIX_TOKEN or, without a database, UNAVAILABLE.
 */
export function authenticateUser(deps: Deps): AuthenticateUser {
  const principals = principalCache(deps)
  return async (authorization) => {
    const token = bearer(authorization)
    const claims = await orUnavailable(() => deps.keys.verify(token))
    const known = await principals(claims.fam)
    const isTheirs = known?.principal.matrixUserId === claims.sub && known.principal.tenantId === claims.tid
    if (!known || !isTheirs || known.expiresAtMs <= deps.clock.now().getTime())
      throw problem('UNAUTHENTICATED', 'the session has ended: refresh it, or log in again')
    return known.principal
  }
}

function bearer(authorization: string | undefined): string {
  const token = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1]
  if (!token) throw problem('UNAUTHENTICATED', 'send `Authorization: Bearer` with the `token` of a login')
  const form = credentialForm(token)
  if (form === 'matrix')
    throw problem('INVALID_MATRIX_TOKEN', 'this is a chat token: send the `token` of the login, not `matrixAccessToken`')
  if (form === 'other') throw problem('UNAUTHENTICATED', 'this is no platform token: send the `token` of a login')
  return token
}

type Kept = Readonly<{ principal: PlatformPrincipal; expiresAtMs: number; atMs: number }>

const mostKept = 20_000
/** What is kept is looked at again after this, whatever the revocations said. */
const keepMs = 5 * 60_000

function principalCache({ db, clock, revocations, roles }: Deps): (sessionId: string) => Promise<Kept | undefined> {
  const kept = new Map<string, Kept>()
  revocations.onRevoked((revoked) => {
    if (revoked === 'everything') return kept.clear()
    if (revoked.kind === 'user-session') return void kept.delete(revoked.subject)
    if (revoked.kind === 'user') forget(kept, ({ userId }) => userId === revoked.subject)
    if (revoked.kind === 'tenant') forget(kept, ({ tenantId }) => tenantId === revoked.subject)
  })
  const read = async (sessionId: string): Promise<Kept | undefined> => {
    const session = await orUnavailable(() => standingSession(db, clock, sessionId))
    return session && keep(session, capabilitiesOf(roles, session), clock)
  }
  return async (sessionId) => {
    const known = kept.get(sessionId)
    if (known && revocations.fresh() && clock.monotonicMs() - known.atMs < keepMs) return known
    const position = revocations.position()
    const found = await read(sessionId)
    if (kept.size >= mostKept) kept.delete(kept.keys().next().value as string)
    // What was read before a revocation came is given to this call, which began before it too, but it is not kept.
    if (found && revocations.position() === position) kept.set(sessionId, found)
    else kept.delete(sessionId)
    return found
  }
}

function forget(kept: Map<string, Kept>, matches: (principal: PlatformPrincipal) => boolean): void {
  for (const [key, { principal }] of kept) if (matches(principal)) kept.delete(key)
}

const keep = (session: FoundSession, capabilities: PlatformPrincipal['capabilities'], clock: Clock): Kept => ({
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
  atMs: clock.monotonicMs(),
})
