import { sql } from 'kysely'
import { dayOf, monthBefore, monthOf } from '../../../core/billing/index.ts'
import { type Clock, isoNow, newId, type PlatformPrincipal, type Random } from '../../../core/kit/index.ts'
import { type Db, deleteInBatches } from '../../db/index.ts'
import type { Loop } from '../../feature/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>
type User = Pick<PlatformPrincipal, 'tenantId' | 'userId'>

export type ActiveUsers = Readonly<{
  /** Remembers that the user called today; it writes nothing. */
  record(user: User): void
  /** Writes what was recorded since the last call. */
  flush(): Promise<void>
  /** Writes every few seconds, and again at the end. */
  loop: Loop
}>

const batch = 500

/**
 * Active users by day. A user is written once a day; what was not written when the process is killed is written with the user's next call.
 */
export function openActiveUsers({ db, clock }: Deps): ActiveUsers {
  let today = ''
  let known = new Set<string>()
  let waiting = new Map<string, User & Readonly<{ day: string }>>()

  const record = ({ tenantId, userId }: User): void => {
    const day = dayOf(isoNow(clock))
    if (day !== today) [today, known] = [day, new Set()]
    if (known.has(userId)) return
    known.add(userId)
    waiting.set(`${userId} ${day}`, { tenantId, userId, day })
  }

  async function flush(): Promise<void> {
    const users = [...waiting]
    waiting = new Map()
    for (let from = 0; from < users.length; from += batch)
      try {
        await store(users.slice(from, from + batch).map(([, user]) => user))
      } catch (error) {
        for (const [key, user] of users.slice(from)) waiting.set(key, user)
        throw error
      }
  }

  /** Days of one user come in order, and never two of a month in one statement. */
  async function store(users: readonly (User & Readonly<{ day: string }>)[]): Promise<void> {
    const days = [...new Set(users.map(({ day }) => day))].sort()
    for (const day of days) {
      const values = users
        .filter((user) => user.day === day)
        .map(({ tenantId, userId }) => ({ tenant_id: tenantId, month: monthOf(day), user_id: userId, first_day: day, last_day: day }))
        .sort((left, right) => (left.user_id < right.user_id ? -1 : 1))
      await db
        .insertInto('billing_active_users')
        .values(values)
        .onConflict((c) =>
          c.columns(['tenant_id', 'month', 'user_id']).doUpdateSet({
            first_day: sql`case when excluded.first_day < billing_active_users.first_day then excluded.first_day else billing_active_users.first_day end`,
            last_day: sql`case when excluded.last_day > billing_active_users.last_day then excluded.last_day else billing_active_users.last_day end`,
          }),
        )
        .execute()
    }
  }

  const loop: Loop = { name: 'record active users', everyMs: 5000, run: flush, atEnd: flush }
  return { record, flush, loop }
}

type Erasure = Readonly<{ db: Db; random: Random; activeUsers: Pick<ActiveUsers, 'flush'> }>

/** An erased user stays charged for its months: each row gets a random id of its own, which leads to no user. It can be repeated. */
export async function eraseActiveUser({ db, random, activeUsers }: Erasure, { id, tenantId }: Readonly<{ id: string; tenantId: string }>) {
  await activeUsers.flush()
  const own = db.selectFrom('billing_active_users').select('month').where('tenant_id', '=', tenantId).where('user_id', '=', id)
  for (const { month } of await own.execute())
    await db
      .updateTable('billing_active_users')
      .set({ user_id: newId(random, 'erased') })
      .where('tenant_id', '=', tenantId)
      .where('month', '=', month)
      .where('user_id', '=', id)
      .execute()
}

const monthsKept = 13

/** Deletes the users of months that are no longer billed. */
export async function deleteOldUsers({ db, clock }: Pick<Deps, 'db' | 'clock'>, signal: AbortSignal): Promise<string> {
  const before = monthBefore(monthOf(isoNow(clock)), monthsKept)
  const deleted = await deleteInBatches(db, { table: 'billing_active_users', where: sql`month < ${before}`, signal })
  return `${deleted} active users of old months deleted`
}
