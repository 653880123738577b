import { LRUCache } from 'lru-cache'
import { consoleIdleMs, proofMs } from '../../core/admin/index.ts'
import { type AdminAccess, roleAtLeast } from '../../core/contract/index.ts'
import { type AdminActor, bearerToken, type Clock, problem, type TokenActor } from '../../core/kit/index.ts'
import { orUnavailable, type Revocations, type SigningKeys } from '../auth/index.ts'
import type { Db } from '../db/index.ts'
import { type Caller, callerOfSession, callerOfToken, recordConsoleUse, recordTokenUse } from './callers.repo.ts'
import { tokenForm, tokenHash } from './tokens.ts'

type AuthenticateDeps = Readonly<{
  db: Db
  clock: Clock
  keys: SigningKeys
  revocations: Revocations
  totpRequired: boolean
}>

type AuthenticateAdmin = (authorization: string | undefined, access?: AdminAccess) => Promise<AdminActor | TokenActor>

/**
 * Authenticates `Bearer …`. The token only names the session; account, role and state come from the database through a cache that
 * revocations invalidate, so a revoked session or a changed role takes effect on every replica within a second. While revocations cannot
 * be read, every call reads the database. Throws UNAUTHENTICATED, SETUP_REQUIRED (unless `setup` is set), REAUTHENTICATION_REQUIRED and
 * UNAVAILABLE.
 */
export function authenticateAdmin(deps: AuthenticateDeps): AuthenticateAdmin {
  const callers = callersOf(deps)
  return async (authorization, access = {}) => {
    const credential = bearer(authorization)
    const caller = tokenForm.test(credential) ? await callers.ofToken(credential) : await callers.ofJwt(credential, access)
    return allowed(deps, caller, access)
  }
}

function allowed({ clock }: Pick<AuthenticateDeps, 'clock'>, caller: Caller | undefined, access: AdminAccess): Caller['actor'] {
  const nowMs = clock.now().getTime()
  if (!caller || caller.expiresAtMs <= nowMs)
    throw problem('UNAUTHENTICATED', 'The session or API token has expired or was revoked. fix: log in again')
  if (caller.setup.length > 0 && !access.setup) throw problem('SETUP_REQUIRED', setupMessage(caller))
  if (access.reauthenticated) assertProof(caller, access, nowMs)
  return caller.actor
}

/** A caller without the role, or an API token, is refused for that: a password would change nothing. */
function assertProof({ actor, provenAtMs = 0 }: Caller, { role = 'viewer' }: AdminAccess, nowMs: number): void {
  if (actor.kind === 'token' || !roleAtLeast(actor.role, role) || nowMs - provenAtMs <= proofMs) return
  throw problem(
    'REAUTHENTICATION_REQUIRED',
    `This session gave its password more than ${proofMs / 60_000} minutes ago. fix: enter it again (\`tenantry login\`), then repeat the command`,
  )
}

const recordUseEveryMs = 60_000

/** Authenticates the cookie of a console session. `attended`: a person made the call, which keeps the session open. Throws as above. */
export function authenticateCookie(deps: Omit<AuthenticateDeps, 'keys'>) {
  const { db, clock, totpRequired } = deps
  const callers = callerCache(deps)
  const idleAt = ({ lastUsedAtMs = 0 }: Caller) => lastUsedAtMs + consoleIdleMs
  return async (cookie: string, { attended, ...access }: AdminAccess & Readonly<{ attended: boolean }>) => {
    const hash = tokenHash(cookie)
    const read = () => callerOfSession(db, { column: 'cookie_hash', value: hash }, totpRequired)
    let caller = await callers.cachedCaller(hash, read, access)
    const nowMs = clock.now().getTime()
    // The last call may have gone to another replica.
    if (caller && idleAt(caller) <= nowMs) {
      callers.forget(hash)
      caller = await callers.cachedCaller(hash, read)
    }
    const actor = allowed(deps, caller && idleAt(caller) > nowMs ? caller : undefined, access)
    if (attended && actor.kind === 'admin' && nowMs - (caller?.lastUsedAtMs ?? 0) > recordUseEveryMs) {
      await orUnavailable(() => recordConsoleUse(db, clock, actor.sessionId))
      callers.forget(hash)
    }
    return actor as AdminActor
  }
}

const setupMessage = ({ setup }: Caller) =>
  setup[0] === 'password'
    ? 'The initial password must be changed first. fix: POST /api/admin/v1/password'
    : 'TOTP must be set up first. fix: POST /api/admin/v1/totp/enrol, then /confirm'

function bearer(authorization: string | undefined): string {
  const token = bearerToken(authorization)
  if (token === undefined)
    throw problem(
      'UNAUTHENTICATED',
      'Missing or malformed header `Authorization: Bearer <token>`. fix: send the token of a login or an API token',
    )
  return token
}

const maxCallers = 10_000
/** Cached callers are read again after this; the last use of an API token is recorded then. */
const cacheMs = 5 * 60_000

type CachedCaller = Readonly<{ caller: Caller; atMs: number }>

function callerCache({ clock, revocations }: Pick<AuthenticateDeps, 'clock' | 'revocations'>) {
  const cached = new LRUCache<string, CachedCaller>({ max: maxCallers })
  revocations.onRevoked((revoked) => {
    if (revoked === 'everything') return cached.clear()
    for (const [key, { caller }] of cached) if (belongs(caller, revoked.kind, revoked.subject)) cached.delete(key)
  })
  return {
    forget: (key: string) => void cached.delete(key),
    /**
     * A caller read before a concurrent revocation serves this call but is not cached. The last proof may have gone to another replica, so
     * calls that ask for one read it again.
     */
    async cachedCaller(
      key: string,
      read: () => Promise<Caller | undefined>,
      { reauthenticated }: AdminAccess = {},
    ): Promise<Caller | undefined> {
      const found = reauthenticated ? undefined : cached.get(key)
      if (found && revocations.fresh() && clock.monotonicMs() - found.atMs < cacheMs) return found.caller
      const position = revocations.position()
      const caller = await orUnavailable(read)
      if (caller && revocations.position() === position) cached.set(key, { caller, atMs: clock.monotonicMs() })
      else cached.delete(key)
      return caller
    },
  }
}

function callersOf(deps: AuthenticateDeps) {
  const { db, clock, keys, totpRequired } = deps
  const { cachedCaller } = callerCache(deps)
  return {
    async ofJwt(token: string, access: AdminAccess): Promise<Caller | undefined> {
      const { sub, sid } = await orUnavailable(() => keys.verify(token))
      const caller = await cachedCaller(sid, () => callerOfSession(db, { column: 'admin_sessions.id', value: sid }, totpRequired), access)
      return caller?.accountId === sub ? caller : undefined
    },
    ofToken: (token: string) => {
      const hash = tokenHash(token)
      return cachedCaller(hash, async () => {
        const caller = await callerOfToken(db, hash)
        if (caller?.actor.kind === 'token') await recordTokenUse(db, clock, caller.actor.tokenId)
        return caller
      })
    },
  }
}

function belongs({ actor, accountId }: Caller, kind: string, subject: string): boolean {
  if (kind === 'admin-account') return accountId === subject
  return kind === 'admin-session'
    ? actor.kind === 'admin' && actor.sessionId === subject
    : actor.kind === 'token' && actor.tokenId === subject
}
