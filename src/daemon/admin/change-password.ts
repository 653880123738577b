import { type AdminActor, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { settleAttempt } from './login-attempts.ts'
import { hashPassword } from './passwords.ts'
import { provePassword } from './prove-password.ts'
import { endSessions } from './sessions.repo.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>
type Change = Readonly<{ currentPassword: string; newPassword: string; address: string }>

/** Changes the own password and ends every other session of the account. */
export async function changePassword(deps: Deps, actor: AdminActor, { currentPassword, newPassword, address }: Change): Promise<void> {
  const { db, clock, revocations } = deps
  const account = await accountById(db, actor.accountId)
  const attempt = await provePassword(deps, { name: account.name, password: currentPassword, address, account })
  if (newPassword === currentPassword) {
    const details = [{ path: 'newPassword', reason: 'must differ from the current password' }]
    throw problem('VALIDATION', 'newPassword must differ from the current password', { details })
  }
  const passwordHash = await hashPassword(newPassword)
  await db.transaction().execute(async (tx) => {
    const changed = await tx
      .updateTable('admin_accounts')
      .set({ password_hash: passwordHash, initial_password_expires_at: null })
      .where('id', '=', account.id)
      .where('password_hash', '=', account.passwordHash)
      .executeTakeFirst()
    if (changed.numUpdatedRows === 0n) throw problem('CONFLICT', 'the password was changed by another session meanwhile: log in again')
    await settleAttempt(tx, attempt)
    await endSessions(tx, clock, account.id, actor.sessionId)
    await recordAudit(tx, clock, { actor, action: 'account.password-changed', subject: account.name })
  })
  await revocations.readNow()
}
