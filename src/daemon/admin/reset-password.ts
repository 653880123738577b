import type { Account } from '../../core/admin/index.ts'
import { type Actor, isoIn, isoNow } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { accountById, shownAccount } from './accounts.repo.ts'
import { initialPasswordMs } from './create-account.ts'
import type { AdminDeps } from './deps.ts'
import { hashPassword, makeInitialPassword } from './passwords.ts'
import { endSessions } from './sessions.repo.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'revocations'>

/** A new one-time password for somebody who lost theirs; the sessions of the account end. The second factor stays. */
export async function resetPassword(
  { db, clock, random, revocations }: Deps,
  actor: Actor,
  { id }: { id: string },
): Promise<{ account: Account; initialPassword: string; expiresAt: string }> {
  const initialPassword = makeInitialPassword(random)
  const passwordHash = await hashPassword(initialPassword)
  const expiresAt = isoIn(clock, initialPasswordMs)
  await db.transaction().execute(async (tx) => {
    const { name } = await accountById(tx, id)
    const password = { password_hash: passwordHash, initial_password_expires_at: expiresAt }
    await tx.updateTable('admin_accounts').set(password).where('id', '=', id).execute()
    await endSessions(tx, clock, id)
    await recordAudit(tx, clock, { actor, action: 'account.password-reset', subject: name })
  })
  await revocations.readNow()
  return { account: await shownAccount(db, id, isoNow(clock)), initialPassword, expiresAt }
}
