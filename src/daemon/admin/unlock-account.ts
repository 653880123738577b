import { type Actor, type Clock, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { accountByName } from './accounts.repo.ts'
import { nameHash } from './login-attempts.ts'

/** Forgets the failed logins of an account, from every network. */
export async function unlockAccount({ db, clock }: { db: Db; clock: Clock }, actor: Actor, { name }: { name: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const account = await accountByName(tx, name)
    if (!account) throw problem('NOT_FOUND', `there is no account ${name}`)
    await tx.deleteFrom('login_failures').where('name_hash', '=', nameHash(account.name)).execute()
    await recordAudit(tx, clock, { actor, action: 'account.unlocked', subject: account.name })
  })
}
