import type { Account } from '../../core/admin/index.ts'
import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { accountById, refuseLastAdmin, shownAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { endSessions } from './sessions.repo.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Shuts an account out for good. Its sessions and the API tokens it made end with it, everywhere within a second. */
export async function disableAccount({ db, clock, revocations }: Deps, actor: Actor, { id }: { id: string }): Promise<Account> {
  await db.transaction().execute(async (tx) => {
    await refuseLastAdmin(tx, id)
    const { name } = await accountById(tx, id)
    const disabled = await tx
      .updateTable('admin_accounts')
      .set({ status: 'disabled' })
      .where('id', '=', id)
      .where('status', '=', 'active')
      .executeTakeFirst()
    if (disabled.numUpdatedRows === 0n) throw problem('CONFLICT', `${name} is disabled already`)
    await tx.deleteFrom('api_tokens').where('account_id', '=', id).execute()
    await endSessions(tx, clock, id)
    await recordAudit(tx, clock, { actor, action: 'account.disabled', subject: name })
  })
  await revocations.readNow()
  return shownAccount(db, id, isoNow(clock))
}
