import { isoNow, isProblem, problem } from '../../core/kit/index.ts'
import { tokenLifetimeMs } from '../../core/sessions/index.ts'
import { skipLocked, type Tx } from '../db/index.ts'
import type { SessionsDeps } from './deps.ts'
import { issueToken } from './issue-token.ts'
import { type Rotated, rotateRefreshToken } from './rotate-refresh-token.ts'
import { newRefreshToken, refreshHash, sessionOfToken } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'random' | 'keys' | 'revocations' | 'rules'>
/** `tellTenant` is told whose session it was. */
type Refresh = Readonly<{ refreshToken: string; tellTenant?: (tenantId: string) => void }>
type Refreshed = Readonly<{ token: string; expiresIn: number; refreshToken: string; refreshTokenExpiresAt: string }>

/**
 * A new platform token and a new refresh token in place of the given one (spec 2.4). Throws REFRESH_TOKEN_REUSED and ends the session when it
 * was used before, REFRESH_TOKEN_INVALID for all else.
 */
export async function refresh(deps: Deps, { refreshToken, tellTenant }: Refresh): Promise<Refreshed> {
  const { db, clock, random, rules, revocations } = deps
  const [hash, successor] = [refreshHash(refreshToken), newRefreshToken(random)]
  // Signed before the old token is spent: what can fail must not cost a session.
  const session = await sessionOfToken(db, clock, hash)
  const issued = session && tokenLifetimeMs(isoNow(clock), session.expiresAt) > 0 ? await issueToken(deps, session) : undefined
  const rotating = db.transaction().execute(async (tx) => {
    const outcome = await rotateRefreshToken(tx, clock, { hash, successor, rules })
    if (outcome.kind === 'rotated' && !issued) throw invalid() // it came back to life in between: nothing is spent
    return outcome
  })
  const rotated = await rotating.catch((error) => standsForAllThat(deps, { hash, successor }, error))
  if (rotated.kind === 'reused') {
    await revocations.readNow()
    throw problem('REFRESH_TOKEN_REUSED', 'this refresh token was used before: its session has ended, log in again')
  }
  if (rotated.kind === 'invalid' || !issued) throw invalid()
  if (session) tellTenant?.(session.tenantId)
  return { ...issued, refreshToken: successor, refreshTokenExpiresAt: rotated.expiresAt }
}

const [looks, stepMs] = [4, 500]

type Turned = Readonly<{ hash: string; successor: string }>

/**
 * A commit whose answer was lost may have gone through. The given token is spent then, and asking again by it would end the session: whoever asked is to
 * have the successor. Throws the failure when there is none, or nobody can tell.
 */
async function standsForAllThat({ db, clock }: Deps, turned: Turned, failure: unknown): Promise<Rotated> {
  if (isProblem(failure)) throw failure
  for (let left = looks; left > 0; left -= 1) {
    const found = await db
      .transaction()
      .execute((tx) => look(tx, turned))
      .catch(() => 'unknown' as const)
    if (found === undefined) throw failure
    if (found !== 'unknown') return { kind: 'rotated', expiresAt: found.expires_at }
    if (left > 1) await clock.sleep(stepMs)
  }
  throw failure
}

/** While somebody has the given token's row, it may be that very commit, under way still: what is not there yet may come. */
async function look(tx: Tx, { hash, successor }: Turned): Promise<{ expires_at: string } | 'unknown' | undefined> {
  const tokens = tx.selectFrom('refresh_tokens').select('expires_at')
  const given = await tokens.where('hash', '=', hash).modifyEnd(skipLocked(tx)).executeTakeFirst()
  return given ? tokens.where('hash', '=', refreshHash(successor)).executeTakeFirst() : 'unknown'
}

const invalid = () =>
  problem('REFRESH_TOKEN_INVALID', 'this refresh token is unknown, has expired or belongs to an ended session: log in again')
