import { type Actor, type Clock, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { accountByName } from './accounts.repo.ts'
import { endSessions } from './sessions.repo.ts'
import { clearTotp } from './totp.ts'

/** For a lost phone: takes the second factor away and ends the sessions; where the role needs codes, the next login sets them up anew. */
export async function resetTotp({ db, clock }: { db: Db; clock: Clock }, actor: Actor, { name }: { name: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const account = await accountByName(tx, name)
    if (!account) throw problem('NOT_FOUND', `there is no account ${name}`)
    await clearTotp(tx, account.id)
    await endSessions(tx, clock, account.id)
    await recordAudit(tx, clock, { actor, action: 'account.totp-reset', subject: account.name })
  })
}
