import { alertOf } from '../../core/alerts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>
type Unsaid = Readonly<{ what: 'lock' | 'name' | 'account'; reason: string }>

/** Platform and chat say different things of a user, and it does not mend itself: an operator hears of it. */
export const tellUnsaid = ({ db, clock }: Deps, userId: string, unsaid: Unsaid): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const user = await nameOf(tx, userId)
    if (user) await raiseAlert(tx, clock, alertOf.chat_refused({ ...user, ...unsaid }))
  })

/** The chat server took it after all. */
export async function tellSaid({ db, clock }: Deps, userId: string): Promise<void> {
  const user = await nameOf(db, userId)
  if (!user) return
  const subject = `${user.slug}/${user.localpart}`
  const open = await db.selectFrom('alerts').select('id').where('subject', '=', subject).where('status', '<>', 'closed').executeTakeFirst()
  if (!open) return
  await db
    .transaction()
    .execute((tx) => closeAlerts(tx, clock, { subject, kinds: ['chat_refused'], because: 'the chat server took it after all' }))
}

const nameOf = (db: DbOrTx, userId: string) =>
  db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['slug', 'localpart', 'users.status'])
    .where('users.id', '=', userId)
    .executeTakeFirst()
