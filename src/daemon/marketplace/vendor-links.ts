import { sql } from 'kysely'
import { z } from 'zod'
import { type Clock, isoIn, isoNow, newId, plural, problem } from '../../core/kit/index.ts'
import { vendorLinkMail, vendorLinkMs } from '../../core/marketplace/index.ts'
import { type Db, type DbOrTx, deleteInBatches, enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { isLinkToken, type Keyring, linkToken } from '../sealed/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { countLink, mayMailLink } from './intake.ts'

/** The topic of the job that mails a link; its payload names the link, never an address or a token. */
export const vendorLinkTopic = 'marketplace.vendor-link'

const purpose = 'vendor-link'

const tokenOf = (keyring: Keyring, id: string): string => `${id}.${linkToken(keyring, { purpose, text: id })}`

type Asked = Readonly<{ email: string; address: string }>

/**
 * Stores a link for a mail address. Whether it has an account is found by the job, so that neither the answer nor its time shows it. Throws
 * RATE_LIMITED, by where the call comes from alone.
 */
export const sendVendorLink = (deps: MarketplaceDeps, { email: entered, address }: Asked): Promise<undefined> =>
  deps.db.transaction().execute(async (tx) => {
    const { clock, random } = deps
    const email = entered.toLowerCase()
    await countLink(deps, tx, { address })
    if (!(await mayMailLink(deps, tx, { email, address }))) return undefined
    const id = newId(random, 'vln')
    await tx
      .insertInto('vendor_links')
      .values({ id, email, created_at: isoNow(clock), expires_at: isoIn(clock, vendorLinkMs), used_at: null })
      .execute()
    await enqueueJob(tx, clock, { topic: vendorLinkTopic, payload: { linkId: id }, key: id })
    return undefined
  })

const Payload = z.object({ linkId: z.string() })

/** Mails a link to an address with an account. One of an unknown address is deleted. A repeated mail keeps its id and its link. */
export const mailVendorLink =
  (deps: Pick<MarketplaceDeps, 'db' | 'clock' | 'keyring' | 'mailer' | 'baseUrl'>): JobHandler =>
  async (payload, { signal }) => {
    const { linkId: id } = Payload.parse(payload)
    const { db, clock, keyring, mailer, baseUrl } = deps
    const link = await openLink({ db, clock }, id)
    if (!link) return
    if (!(await hasAccount(db, link.email))) {
      await db.deleteFrom('vendor_links').where('id', '=', id).execute()
      return
    }
    const url = `${baseUrl}/vendor/open?token=${tokenOf(keyring, id)}`
    await mailer.send({ id, to: link.email, ...vendorLinkMail({ url, minutes: vendorLinkMs / 60_000 }) }, signal)
  }

/** A vendor or a submission names the address; a submission need not be confirmed, because its link proves the address. */
async function hasAccount(db: DbOrTx, email: string): Promise<boolean> {
  const vendor = db
    .selectFrom('marketplace_vendors')
    .select('id')
    .where(({ fn }) => fn<string>('lower', ['contact_email']), '=', email)
  if (await vendor.limit(1).executeTakeFirst()) return true
  const submission = db
    .selectFrom('marketplace_submissions')
    .select('id')
    .where(({ fn }) => fn<string>('lower', ['vendor_email']), '=', email)
  return (await submission.limit(1).executeTakeFirst()) !== undefined
}

type Deps = Readonly<{ db: DbOrTx; clock: Clock }>

async function openLink({ db, clock }: Deps, id: string) {
  const row = await db.selectFrom('vendor_links').select(['id', 'email', 'expires_at', 'used_at']).where('id', '=', id).executeTakeFirst()
  return row && row.used_at === null && row.expires_at > isoNow(clock) ? row : undefined
}

/** The address of a link that may be used. Throws LINK_INVALID for every other token, always in the same words. */
export async function linkOfToken({ keyring, ...deps }: Deps & Readonly<{ keyring: Keyring }>, token: string) {
  const [id = '', proof = ''] = token.split('.', 2)
  const link = isLinkToken(keyring, { purpose, text: id, token: proof }) ? await openLink(deps, id) : undefined
  if (!link) throw invalidLink()
  return link
}

const invalidLink = () => problem('LINK_INVALID', 'This link is unknown, was used, or has expired. fix: ask for a new one')

/** Spends a link. Throws LINK_INVALID if it was used meanwhile. */
export async function useVendorLink(tx: Tx, clock: Clock, { id }: Readonly<{ id: string }>): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('vendor_links')
    .set({ used_at: isoNow(clock) })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw invalidLink()
}

type Cleaned = Readonly<{ db: Db; clock: Clock }>

/** Deletes links and sessions that have ended, with their addresses. */
export async function deleteEndedSessions({ db, clock }: Cleaned, signal: AbortSignal): Promise<string> {
  const where = sql`expires_at < ${isoNow(clock)}`
  const links = await deleteInBatches(db, { table: 'vendor_links', where, signal })
  const sessions = await deleteInBatches(db, { table: 'vendor_sessions', where, signal })
  return `${plural(links, 'link')} and ${plural(sessions, 'session')} of vendors`
}
