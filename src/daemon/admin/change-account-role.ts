import type { Account } from '../../core/admin/index.ts'
import type { AdminRole } from '../../core/contract/index.ts'
import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { accountById, refuseLastAdmin, shownAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Gives an account another role; open sessions have it within a second. Its API tokens never reach above it. */
export async function changeAccountRole(
  { db, clock, revocations }: Deps,
  actor: Actor,
  { id, role }: { id: string; role: AdminRole },
): Promise<Account> {
  await db.transaction().execute(async (tx) => {
    if (role !== 'admin') await refuseLastAdmin(tx, id)
    const account = await accountById(tx, id)
    if (!account.active) throw problem('CONFLICT', `${account.name} is disabled`)
    await tx.updateTable('admin_accounts').set({ role }).where('id', '=', id).execute()
    await publishRevocation(tx, clock, { kind: 'admin-account', subject: id })
    await recordAudit(tx, clock, { actor, action: 'account.role-changed', subject: account.name, data: { from: account.role, to: role } })
  })
  await revocations.readNow()
  return shownAccount(db, id, isoNow(clock))
}
