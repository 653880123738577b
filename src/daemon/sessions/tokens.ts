import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, isProblem, problem } from '../../core/kit/index.ts'
import { type SessionRules, tokenLifetimeMs } from '../../core/sessions/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { skipLocked, type Tx } from '../db/index.ts'
import type { SessionsDeps } from './deps.ts'
import { endSessions } from './end-sessions.ts'
import { type FoundSession, insertRefreshToken, newSalt, refreshHash, sessionOfToken, successorOf } from './sessions.repo.ts'

type TokenSession = Pick<FoundSession, 'id' | 'localpart' | 'tenantId' | 'chatDomain' | 'expiresAt'>

/** A platform token for a session. It names user, tenant and session, but no permission. `expiresIn`: seconds. */
export async function issueToken(
  { keys, clock }: Pick<SessionsDeps, 'keys' | 'clock'>,
  { id, localpart, tenantId, chatDomain, expiresAt }: TokenSession,
): Promise<{ token: string; expiresIn: number }> {
  const lifetimeMs = tokenLifetimeMs(isoNow(clock), expiresAt)
  const { token } = await keys.sign({ sub: matrixUserIdOf(localpart, chatDomain), tid: tenantId, fam: id }, lifetimeMs)
  return { token, expiresIn: lifetimeMs / 1000 }
}

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'random' | 'keys' | 'revocations' | 'rules'>
/** `setTenant` is called with the tenant of the session. */
type RefreshInput = Readonly<{ refreshToken: string; setTenant?: (tenantId: string) => void }>
type Refreshed = Readonly<{ token: string; expiresIn: number; refreshToken: string; refreshTokenExpiresAt: string }>

/**
 * Exchanges a refresh token for a new token pair (spec 2.4). Within the grace time a used token gives the same successor again. Throws
 * REFRESH_TOKEN_REUSED and ends the session when the token was used before, REFRESH_TOKEN_INVALID for everything else.
 */
export async function refresh(deps: Deps, { refreshToken, setTenant }: RefreshInput): Promise<Refreshed> {
  const { db, clock, random, rules, revocations } = deps
  const [hash, salt] = [refreshHash(refreshToken), newSalt(random)]
  const successor = successorOf(refreshToken, salt)
  // Signed before the old token is spent: a failure to sign must not cost the session.
  const session = await sessionOfToken(db, clock, hash)
  const issued = session && tokenLifetimeMs(isoNow(clock), session.expiresAt) > 0 ? await issueToken(deps, session) : undefined
  const rotating = db.transaction().execute(async (tx) => {
    const outcome = await rotateRefreshToken(tx, clock, { hash, successor, salt, rules })
    if ((outcome.kind === 'rotated' || outcome.kind === 'repeated') && !issued) throw invalidToken() // the session became valid in between: roll back, the token stays unused
    return outcome
  })
  const rotated = await rotating.catch((error) => recoverLostCommit(deps, { hash, successor }, error))
  if (session) setTenant?.(session.tenantId)
  if (rotated.kind === 'reused') {
    await revocations.readNow()
    throw problem('REFRESH_TOKEN_REUSED', 'This refresh token was used before, so its session has ended. fix: log in again')
  }
  if (rotated.kind === 'invalid' || !issued) throw invalidToken()
  const given = rotated.kind === 'repeated' ? successorOf(refreshToken, rotated.salt) : successor
  return { ...issued, refreshToken: given, refreshTokenExpiresAt: rotated.expiresAt }
}

const [maxReads, readStepMs] = [4, 500]

type TokenPair = Readonly<{ hash: string; successor: string }>

/**
 * Handles a commit whose answer was lost. If it went through, the old token is spent, and using it again would end the session, so the caller must
 * get the successor. Throws the failure if there is no successor, or if that cannot be determined.
 */
async function recoverLostCommit({ db, clock }: Deps, pair: TokenPair, failure: unknown): Promise<Rotated> {
  if (isProblem(failure)) throw failure
  for (let left = maxReads; left > 0; left -= 1) {
    const found = await db
      .transaction()
      .execute((tx) => findSuccessor(tx, pair))
      .catch(() => 'unknown' as const)
    if (found === undefined) throw failure
    if (found !== 'unknown') return { kind: 'rotated', expiresAt: found.expires_at }
    if (left > 1) await clock.sleep(readStepMs)
  }
  throw failure
}

/** `unknown`: the row of the old token is locked, possibly by that very commit still running. */
async function findSuccessor(tx: Tx, { hash, successor }: TokenPair): Promise<{ expires_at: string } | 'unknown' | undefined> {
  const tokens = tx.selectFrom('refresh_tokens').select('expires_at')
  const old = await tokens.where('hash', '=', hash).modifyEnd(skipLocked(tx)).executeTakeFirst()
  return old ? tokens.where('hash', '=', refreshHash(successor)).executeTakeFirst() : 'unknown'
}

const invalidToken = () =>
  problem('REFRESH_TOKEN_INVALID', 'This refresh token is unknown, has expired or belongs to an ended session. fix: log in again')

/** `salt`: gives `successor` with the token. */
type Rotation = Readonly<{ hash: string; successor: string; salt: string; rules: SessionRules }>
type Rotated =
  | Readonly<{ kind: 'rotated'; expiresAt: string }>
  | Readonly<{ kind: 'repeated'; salt: string; expiresAt: string }>
  | Readonly<{ kind: 'reused' }>
  | Readonly<{ kind: 'invalid' }>

/**
 * Spends a refresh token and stores its successor. Of concurrent tries one passes the guarded update; the others find the token used, which ends
 * the session with the successor. Within the grace time a used token gives its successor again, unless that was used.
 */
export async function rotateRefreshToken(tx: Tx, clock: Clock, { hash, successor, salt, rules }: Rotation): Promise<Rotated> {
  const isGraced = rules.graceSeconds > 0
  if (!(await spendToken(tx, clock, hash)))
    return (isGraced && (await unusedSuccessor(tx, clock, { hash, graceSeconds: rules.graceSeconds }))) || endReusedSession(tx, clock, hash)
  const session = await sessionOf(tx, hash)
  const now = isoNow(clock)
  const made = { token: successor, sessionId: session.id, sessionExpiresAt: session.expires_at, parentHash: hash, rules }
  const expiresAt = await insertRefreshToken(tx, now, made)
  if (isGraced) await replaceSalt(tx, { hash, parentHash: session.parent_hash, salt })
  await tx.updateTable('sessions').set({ used_at: now }).where('id', '=', session.id).execute()
  return { kind: 'rotated', expiresAt }
}

/** Only the newest used token has a salt, so that no older one leads to the valid token. */
async function replaceSalt(
  tx: Tx,
  { hash, parentHash, salt }: Readonly<{ hash: string; parentHash: string | null; salt: string }>,
): Promise<void> {
  await tx.updateTable('refresh_tokens').set({ successor_salt: salt }).where('hash', '=', hash).execute()
  if (parentHash !== null) await tx.updateTable('refresh_tokens').set({ successor_salt: null }).where('hash', '=', parentHash).execute()
}

const sessionOf = (tx: Tx, hash: string) =>
  tx
    .selectFrom('sessions')
    .innerJoin('refresh_tokens', 'refresh_tokens.session_id', 'sessions.id')
    .select(['sessions.id', 'sessions.expires_at', 'refresh_tokens.parent_hash'])
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow()

/** The guarded update: token, session, user and tenant must all be valid. */
async function spendToken(tx: Tx, clock: Clock, hash: string): Promise<boolean> {
  const now = isoNow(clock)
  const { rows } = await sql`
    update refresh_tokens set used_at = ${now}
    where hash = ${hash} and used_at is null and expires_at > ${now} and ${isSessionValid(now)}
    returning session_id`.execute(tx)
  return rows.length > 0
}

const isSessionValid = (now: string) => sql`exists (
  select 1 from sessions
    join users on users.id = sessions.user_id
    join tenants on tenants.id = sessions.tenant_id
  where sessions.id = refresh_tokens.session_id and sessions.ended_at is null and sessions.expires_at > ${now}
    and users.status = 'active' and tenants.status = 'active')`

type Graced = Readonly<{ hash: string; graceSeconds: number }>

/** The successor of a token used within the grace time, while the session is valid and the successor unused. */
async function unusedSuccessor(tx: Tx, clock: Clock, { hash, graceSeconds }: Graced): Promise<Rotated | undefined> {
  const [now, since] = [isoNow(clock), isoIn(clock, -graceSeconds * 1000)]
  const { rows } = await sql<{ successor_salt: string; expires_at: string }>`
    select refresh_tokens.successor_salt, child.expires_at from refresh_tokens
      join refresh_tokens child on child.parent_hash = refresh_tokens.hash
    where refresh_tokens.hash = ${hash} and refresh_tokens.used_at > ${since} and refresh_tokens.successor_salt is not null
      and child.used_at is null and ${isSessionValid(now)}`.execute(tx)
  const [found] = rows
  return found && { kind: 'repeated', salt: found.successor_salt, expiresAt: found.expires_at }
}

async function endReusedSession(tx: Tx, clock: Clock, hash: string): Promise<Rotated> {
  const token = await tx.selectFrom('refresh_tokens').select(['session_id', 'used_at']).where('hash', '=', hash).executeTakeFirst()
  if (!token || token.used_at === null) return { kind: 'invalid' }
  await endSessions({ tx, clock }, [token.session_id], 'reuse')
  return { kind: 'reused' }
}
