import { proofMs } from '../../core/admin/index.ts'
import { type AdminActor, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithTx } from '../db/index.ts'
import { accountById, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { type Attempt, clearFailures, refundAttempt } from './login-attempts.ts'
import { recordFailedAttempt, verifyOwnPassword } from './passwords.ts'
import { consumeCode } from './totp.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'keyring'>
type Proof = Readonly<{ password: string; totp?: string | undefined; address: string }>

/**
 * Records that the caller's session has given password and code, as a login does; for ten minutes it may then create credentials. Attempts
 * count and lock as those of a login. Throws WRONG_PASSWORD, TOTP_REQUIRED (after a right password), LOGIN_FAILED (the code), ACCOUNT_LOCKED.
 */
export async function reauthenticate(deps: Deps, actor: AdminActor, { password, totp, address }: Proof): Promise<{ expiresAt: string }> {
  const account = await accountById(deps.db, actor.accountId)
  const attempt = await verifyOwnPassword(deps, { password, address, account })
  if (account.totpConfirmed && !totp) {
    await refundAttempt(deps, attempt)
    throw problem('TOTP_REQUIRED', 'This account needs a TOTP code or a recovery code.')
  }
  const expiresAt = isoIn(deps.clock, proofMs)
  const isProven = await deps.db.transaction().execute((tx) => recordProof({ ...deps, tx }, actor, { account, attempt, totp }))
  if (!isProven) throw await recordFailedAttempt(deps, { attempt, account, address })
  return { expiresAt }
}

type Verified = Readonly<{ account: StoredAccount; attempt: Attempt; totp: string | undefined }>

/** False, with nothing written, when the code is wrong. */
async function recordProof(deps: WithTx<Deps>, actor: AdminActor, { account, attempt, totp }: Verified): Promise<boolean> {
  const { tx, clock } = deps
  const secondFactor = account.totpConfirmed ? await consumeCode(deps, account, totp ?? '') : 'none'
  if (!secondFactor) return false
  const proven = await tx
    .updateTable('admin_sessions')
    .set({ proven_at: isoNow(clock) })
    .where('id', '=', actor.sessionId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (proven.numUpdatedRows === 0n) throw problem('UNAUTHENTICATED', 'The session was ended meanwhile. fix: log in again')
  await clearFailures(tx, attempt)
  await recordAudit(tx, clock, { actor, action: 'session.reauthenticated', subject: actor.sessionId, data: { secondFactor } })
  return true
}
