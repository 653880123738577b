import { sql } from 'kysely'
import { type Clock, isoIn, newId, problem, type Random } from '../../core/kit/index.ts'
import { networkKey } from '../../core/limits/index.ts'
import { type Db, deleteInBatches, lockExclusive, type Tx } from '../db/index.ts'

/** Submissions an hour from one address: an IPv4 address, or an IPv6 /64. Also answers an hour for one submission. */
const maxSubmissions = 5
/** Submissions an hour from one network, which has as many addresses as its owner likes: it must not use up those of all. */
const maxOfNetwork = 20
const network = { v4: 24, v6: 48 }
/** Submissions an hour from all addresses: the owner of many networks must not fill the disk. */
const maxOfAll = 100
const hourMs = 3_600_000
/** Receipts a day to one mail address, as many as one sender may cause in an hour: the forms of others cannot flood it. */
const maxReceipts = maxSubmissions
/** A receipt that would have to wait longer is not sent. */
const maxReceiptDelayMs = 7 * 24 * hourMs

type Deps = Readonly<{ clock: Clock; random: Random }>
type Counted = Readonly<{ kind: 'submission' | 'receipt' | 'link'; subject: string; max: number; withinMs: number; maxDelayMs: number }>

/**
 * Milliseconds until one is allowed. It is counted for that time, unless that is more than `maxDelayMs` ahead. Calls for one subject are counted
 * one after the other.
 */
async function count({ clock, random }: Deps, tx: Tx, { kind, subject, max, withinMs, maxDelayMs }: Counted): Promise<number> {
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
  const delayMs = oldest ? Math.max(1, Date.parse(oldest.created_at) + withinMs - clock.now().getTime()) : 0
  if (delayMs <= maxDelayMs)
    await tx
      .insertInto('marketplace_intake')
      .values({ id: newId(random, 'int'), kind, subject, created_at: isoIn(clock, delayMs) })
      .execute()
  return delayMs
}

/** Throws RATE_LIMITED for the sixth submission within an hour from one address, the 21st from one network, and the 101st from all. */
export async function countSubmission(deps: Deps, tx: Tx, { address }: Readonly<{ address: string }>): Promise<void> {
  await countHourly(deps, tx, { subject: networkKey(address), sent: `This address has sent ${maxSubmissions} submissions` })
  const ofNetwork = { subject: `network ${networkKey(address, network)}`, max: maxOfNetwork }
  await countHourly(deps, tx, { ...ofNetwork, sent: `The network of this address has sent ${maxOfNetwork} submissions` })
  await countHourly(deps, tx, { subject: 'all', max: maxOfAll, sent: `The marketplace has received ${maxOfAll} submissions` })
}

/**
 * A vendor who answers a reviewer is known by the token, so the submissions of the address do not count. Throws RATE_LIMITED for the sixth
 * answer within an hour for one submission: a refused one leaves its token valid.
 */
export const countAnswer = (deps: Deps, tx: Tx, { id }: Readonly<{ id: string }>): Promise<void> =>
  countHourly(deps, tx, { subject: `answer ${id}`, sent: `Submission ${id} was sent again ${maxSubmissions} times` })

/** Screenshots an hour that are added to one submission or deleted: enough to replace all of them twice. */
const maxScreenshotChanges = 30

/** Throws RATE_LIMITED for the 31st change of screenshots within an hour for one submission: each is a new round and an audit entry. */
export const countScreenshotChange = (deps: Deps, tx: Tx, { id }: Readonly<{ id: string }>): Promise<void> =>
  countHourly(deps, tx, {
    ...{ subject: `screenshots ${id}`, max: maxScreenshotChanges },
    sent: `Screenshots of submission ${id} were changed ${maxScreenshotChanges} times`,
  })

/** Links an hour: of one address, of its network, and of all. A link counts whether or not the address has an account. */
const maxLinks = { address: 5, network: 20, all: 300 }
/** Links a day to one mail address: asked for from one network, and in all. A stranger elsewhere leaves those of the owner's network. */
const maxLinkMails = { network: 5, all: 30 }

/** Throws RATE_LIMITED for the sixth request of a link within an hour from one address, the 21st from one network, and the 301st from all. */
export async function countLink(deps: Deps, tx: Tx, { address }: Readonly<{ address: string }>): Promise<void> {
  const count = (subject: string, max: number) =>
    countHourly(deps, tx, { kind: 'link', subject, max, sent: 'Too many links were asked for' })
  await count(networkKey(address), maxLinks.address)
  await count(`network ${networkKey(address, network)}`, maxLinks.network)
  await count('all', maxLinks.all)
}

/** Whether one more link may be mailed to an address today, which counts as sent then. */
export async function mayMailLink(deps: Deps, tx: Tx, { email, address }: Readonly<{ email: string; address: string }>): Promise<boolean> {
  const isFree = async (subject: string, max: number) =>
    (await count(deps, tx, { kind: 'link', subject, max, withinMs: 24 * hourMs, maxDelayMs: 0 })) === 0
  return (
    (await isFree(`mail ${email} from ${networkKey(address, network)}`, maxLinkMails.network)) &&
    (await isFree(`mail ${email}`, maxLinkMails.all))
  )
}

type Hourly = Readonly<{ kind?: Counted['kind']; subject: string; sent: string; max?: number }>

async function countHourly(deps: Deps, tx: Tx, { kind = 'submission', subject, sent, max = maxSubmissions }: Hourly): Promise<void> {
  const delayMs = await count(deps, tx, { kind, subject, max, withinMs: hourMs, maxDelayMs: 0 })
  if (delayMs === 0) return
  const retryAfterSeconds = Math.ceil(delayMs / 1000)
  throw problem('RATE_LIMITED', `${sent} within an hour. fix: retry in ${Math.ceil(retryAfterSeconds / 60)} min`, { retryAfterSeconds })
}

/** When the next receipt may go to a mail address, which counts as sent then; null if that is too far ahead. */
export async function nextReceiptAt(deps: Deps, tx: Tx, email: string): Promise<string | null> {
  const delayMs = await count(deps, tx, {
    ...{ kind: 'receipt', subject: email.toLowerCase(), max: maxReceipts, withinMs: 24 * hourMs, maxDelayMs: maxReceiptDelayMs },
  })
  return delayMs <= maxReceiptDelayMs ? isoIn(deps.clock, delayMs) : null
}

/** Deletes counts that no limit reads any more. */
export async function deleteOldCounts({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<string> {
  const deleted = await deleteInBatches(db, { table: 'marketplace_intake', where: sql`created_at < ${isoIn(clock, -24 * hourMs)}`, signal })
  return `${deleted} counts of marketplace submissions`
}
