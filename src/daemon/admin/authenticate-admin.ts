import { type AdminActor, type Clock, problem, type TokenActor } from '../../core/kit/index.ts'
import { orUnavailable, type Revocations, type SigningKeys } from '../auth/index.ts'
import type { Db } from '../db/index.ts'
import { type Caller, callerOfSession, callerOfToken, recordTokenUse } from './callers.repo.ts'
import { tokenForm, tokenHash } from './tokens.repo.ts'

type AuthenticateDeps = Readonly<{
  db: Db
  clock: Clock
  keys: SigningKeys
  revocations: Revocations
  totpRequired: boolean
}>

type AuthenticateAdmin = (authorization: string | undefined, options?: { setup?: boolean }) => Promise<AdminActor | TokenActor>

/**
 * Turns `Bearer …` into who is calling. The token says which session; account, role and state come from the record, kept in memory and
 * dropped as soon as the revocations name it, so a revoked session or a changed role holds on every replica within a second.
 * When the revocations cannot be read for a second, every call asks the database. A session with steps of its setup left is refused
 * unless `setup` lets it in. Throws UNAUTHENTICATED, SETUP_REQUIRED or, without a database, UNAVAILABLE.
 */
export function authenticateAdmin(deps: AuthenticateDeps): AuthenticateAdmin {
  const callers = callerCache(deps)
  return async (authorization, { setup = false } = {}) => {
    const credential = bearer(authorization)
    const caller = tokenForm.test(credential) ? await callers.ofToken(credential) : await callers.ofJwt(credential)
    if (!caller || caller.expiresAtMs <= deps.clock.now().getTime())
      throw problem('UNAUTHENTICATED', 'the session or API token has ended: log in again')
    if (caller.setup.length > 0 && !setup) throw problem('SETUP_REQUIRED', setupMessage(caller))
    return caller.actor
  }
}

const setupMessage = ({ setup }: Caller) =>
  setup[0] === 'password'
    ? 'the one-time password must be changed first: POST /api/admin/v1/password'
    : 'one-time codes must be set up first: POST /api/admin/v1/totp/enrol, then /confirm'

function bearer(authorization: string | undefined): string {
  const match = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')
  if (!match) throw problem('UNAUTHENTICATED', 'send `Authorization: Bearer` with a token from a login or an API token')
  return match[1] as string
}

const mostCallers = 10_000
/** What is kept is looked at again after this, whatever the revocations said; an API token's last use is noted then. */
const keepMs = 5 * 60_000

type Kept = Readonly<{ caller: Caller; atMs: number }>

function callerCache(deps: AuthenticateDeps) {
  const { db, clock, keys, revocations, totpRequired } = deps
  const kept = new Map<string, Kept>()
  revocations.onRevoked((revoked) => {
    if (revoked === 'everything') return kept.clear()
    for (const [key, { caller }] of kept) if (belongs(caller, revoked.kind, revoked.subject)) kept.delete(key)
  })

  // What was read before a revocation came is given to this call, which began before it too, but it is not kept.
  const remember = async (key: string, load: () => Promise<Caller | undefined>): Promise<Caller | undefined> => {
    const found = kept.get(key)
    if (found && revocations.fresh() && clock.monotonicMs() - found.atMs < keepMs) return found.caller
    const position = revocations.position()
    const caller = await orUnavailable(load)
    if (kept.size >= mostCallers) kept.delete(kept.keys().next().value as string)
    if (caller && revocations.position() === position) kept.set(key, { caller, atMs: clock.monotonicMs() })
    else kept.delete(key)
    return caller
  }

  return {
    async ofJwt(token: string): Promise<Caller | undefined> {
      const { sub, sid } = await orUnavailable(() => keys.verify(token))
      const caller = await remember(sid, () => callerOfSession(db, sid, totpRequired))
      return caller?.accountId === sub ? caller : undefined
    },
    ofToken: (token: string) => {
      const hash = tokenHash(token)
      return remember(hash, async () => {
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
