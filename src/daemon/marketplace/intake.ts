import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, newId, problem, type Random } from '../../core/kit/index.ts'
import { networkKey } from '../../core/limits/index.ts'
import { type Db, deleteSome, lockExclusive, type Tx } from '../db/index.ts'

/** Submissions an hour from one address: an IPv4 address, or an IPv6 /64. */
const maxSubmissions = 5
const hourMs = 3_600_000
/** Receipts a day to one mail address: the forms of others cannot flood it. */
const maxReceipts = 3

type Deps = Readonly<{ clock: Clock; random: Random }>
type Counted = Readonly<{ kind: 'submission' | 'receipt'; subject: string; max: number; withinMs: number }>

/** Counts one; the time in seconds until the next is allowed if it is too many. Calls for one subject are counted one after the other. */
async function count({ clock, random }: Deps, tx: Tx, { kind, subject, max, withinMs }: Counted): Promise<number | null> {
  await lockExclusive(tx, `marketplace-intake ${kind} ${subject}`)
  const recent = await tx
    .selectFrom('marketplace_intake')
    .select('created_at')
    .where('kind', '=', kind)
    .where('subject', '=', subject)
    .where('created_at', '>', isoIn(clock, -withinMs))
    .orderBy('created_at', 'desc')
    .limit(max)
    .execute()
  const oldest = recent.at(max - 1)
  if (oldest) return Math.max(1, Math.ceil((Date.parse(oldest.created_at) + withinMs - clock.now().getTime()) / 1000))
  await tx
    .insertInto('marketplace_intake')
    .values({ id: newId(random, 'int'), kind, subject, created_at: isoNow(clock) })
    .execute()
  return null
}

/** Throws RATE_LIMITED for the sixth submission within an hour from one address. */
export async function countSubmission(deps: Deps, tx: Tx, { address }: Readonly<{ address: string }>): Promise<void> {
  const retryAfterSeconds = await count(deps, tx, {
    ...{ kind: 'submission', subject: networkKey(address), max: maxSubmissions, withinMs: hourMs },
  })
  if (retryAfterSeconds === null) return
  throw problem(
    'RATE_LIMITED',
    `This address has sent ${maxSubmissions} submissions within an hour. fix: retry in ${Math.ceil(retryAfterSeconds / 60)} min`,
    { retryAfterSeconds },
  )
}

/** Whether another receipt may go to a mail address today. */
export const mayReceipt = async (deps: Deps, tx: Tx, email: string): Promise<boolean> =>
  (await count(deps, tx, { kind: 'receipt', subject: email.toLowerCase(), max: maxReceipts, withinMs: 24 * hourMs })) === null

/** Deletes counts that no limit reads any more. */
export async function deleteOldCounts({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<string> {
  const limit = 500
  let deleted = 0
  for (let last = limit; last === limit && !signal.aborted; deleted += last)
    last = await deleteSome(db, { table: 'marketplace_intake', where: sql`created_at < ${isoIn(clock, -24 * hourMs)}`, limit })
  return `${deleted} counts of marketplace submissions`
}
