import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { problem, type VendorActor } from '../../core/kit/index.ts'
import type { Vendor, VendorAccount, VendorItem, VendorSubmission, VendorSubmissionDetail } from '../../core/marketplace/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { findItem, type ItemRecord, itemsOf, type ListedItemRecord, lockItem } from './items.repo.ts'
import { screenshotsOf } from './screenshots.repo.ts'
import { findSubmission, lockSubmission, type SubmissionRecord, submissionsOf, versionsOf } from './submissions.repo.ts'
import { sessionEnd } from './vendor-sessions.ts'
import { findVendor, vendorIdsOf, vendorsOfAddress } from './vendors.repo.ts'

// Everything here belongs to the address of a session, and what does not is answered like what does not exist.

type Deps = Pick<MarketplaceDeps, 'db'>
type One = Readonly<{ id: string }>
type Page = Readonly<{ cursor?: string | undefined; limit: number }>

const rangeOf = ({ cursor, limit }: Page) => ({ after: cursor === undefined ? undefined : readPageEnd(cursor), limit: limit + 1 })

const ownVendor = ({ paymentAccountId: _, contactEmail: __, ...vendor }: Vendor): VendorAccount['vendors'][number] => vendor

export async function showVendorAccount(deps: Deps, actor: VendorActor): Promise<VendorAccount> {
  const vendors = await vendorsOfAddress(deps.db, actor.email)
  return { email: actor.email, expiresAt: await sessionEnd(deps, actor), vendors: vendors.map(ownVendor) }
}

/** Installations that are active, by item. */
async function installationsOf(db: DbOrTx, itemIds: readonly string[]): Promise<Map<string, number>> {
  if (itemIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('marketplace_subscriptions')
    .select(({ fn }) => ['item_id', fn.countAll().as('count')])
    .where('item_id', 'in', [...itemIds])
    .where('status', '=', 'active')
    .groupBy('item_id')
    .execute()
  return new Map(rows.map(({ item_id, count }) => [item_id, Number(count)]))
}

const vendorItem = (item: ListedItemRecord, installations: number): VendorItem => ({
  ...{ id: item.id, itemType: item.itemType, slug: item.slug, name: item.name, description: item.description, iconEmoji: item.iconEmoji },
  ...{ category: item.category as VendorItem['category'], vendorId: item.vendorId, version: item.version, status: item.status },
  ...{ priceModel: item.priceModel, priceCents: item.priceCents, currency: item.currency, screenshots: [...item.screenshots] },
  ...{ withdrawnAt: item.withdrawnAt, publishedAt: item.publishedAt, updatedAt: item.updatedAt, installations },
})

const withInstallations = async (db: DbOrTx, items: readonly ListedItemRecord[]): Promise<VendorItem[]> => {
  const counts = await installationsOf(
    db,
    items.map(({ id }) => id),
  )
  return items.map((item) => vendorItem(item, counts.get(item.id) ?? 0))
}

export const vendorItemView = async (db: DbOrTx, item: ListedItemRecord): Promise<VendorItem> =>
  (await withInstallations(db, [item]))[0] as VendorItem

/** A page of the items of the account, newest first. Throws VALIDATION for an invalid cursor. */
export async function listVendorItems({ db }: Deps, actor: VendorActor, range: Page) {
  const found = await itemsOf(db, { vendorIds: await vendorIdsOf(db, actor), ...rangeOf(range) })
  const { page, nextCursor } = pageOf(found, range.limit, pageEnd)
  return { items: await withInstallations(db, page), nextCursor }
}

const noSuchItem = (id: string) => problem('NOT_FOUND', `Item ${id} does not exist in this account. fix: choose one of its items`)

const isOfAccount = async (db: DbOrTx, actor: VendorActor, { vendorId }: ItemRecord): Promise<boolean> =>
  vendorId !== null && (await vendorIdsOf(db, actor)).includes(vendorId)

/** Throws NOT_FOUND. */
export async function ownItem(db: DbOrTx, actor: VendorActor, id: string): Promise<ItemRecord> {
  const item = await findItem(db, id)
  if (!item || !(await isOfAccount(db, actor, item))) throw noSuchItem(id)
  return item
}

/** The item, locked until the transaction ends. Throws NOT_FOUND. */
export async function lockOwnItem(tx: Tx, actor: VendorActor, id: string): Promise<ItemRecord> {
  const item = await lockItem(tx, id)
  if (!item || !(await isOfAccount(tx, actor, item))) throw noSuchItem(id)
  return item
}

export async function showVendorItem({ db }: Deps, actor: VendorActor, { id }: One) {
  const item = await ownItem(db, actor, id)
  // A submission of another address for this item is that of its former vendor.
  const versions = (await versionsOf(db, id)).filter((one) => one.approvedItemId === id || isOwn(one, actor))
  return { ...(await vendorItemView(db, item)), versions: versions.map(vendorSubmission) }
}

const isOwn = ({ vendorEmail }: SubmissionRecord, { email }: VendorActor): boolean => vendorEmail.toLowerCase() === email

const vendorSubmission = (one: SubmissionRecord): VendorSubmission => ({
  ...{ id: one.id, itemType: one.itemType, name: one.name, version: one.version, status: one.status, confirmed: one.provenAt !== null },
  ...{ itemId: one.approvedItemId ?? one.itemId, reviewNotes: one.reviewNotes, reviewedAt: one.reviewedAt },
  ...{ createdAt: one.createdAt, updatedAt: one.updatedAt },
})

export async function vendorSubmissionView(db: DbOrTx, one: SubmissionRecord): Promise<VendorSubmissionDetail> {
  const { description, warnings } = one
  return { ...vendorSubmission(one), description, warnings: [...warnings], screenshots: await screenshotsOf(db, one.id) }
}

/** A page of the submissions of the address, newest first. Throws VALIDATION for an invalid cursor. */
export async function listVendorSubmissions({ db }: Deps, { email }: Pick<VendorActor, 'email'>, range: Page) {
  const { page, nextCursor } = pageOf(await submissionsOf(db, { email, ...rangeOf(range) }), range.limit, pageEnd)
  return { submissions: page.map(vendorSubmission), nextCursor }
}

const noSuchSubmission = (id: string) =>
  problem('NOT_FOUND', `Submission ${id} does not exist in this account. fix: choose one of its submissions`)

/** Throws NOT_FOUND. */
export async function ownSubmission(db: DbOrTx, actor: VendorActor, id: string): Promise<SubmissionRecord> {
  const found = await findSubmission(db, id)
  if (!found || !isOwn(found, actor)) throw noSuchSubmission(id)
  return found
}

/** The submission, locked until the transaction ends. Throws NOT_FOUND. */
export async function lockOwnSubmission(tx: Tx, actor: VendorActor, id: string): Promise<SubmissionRecord> {
  const found = await lockSubmission(tx, id)
  if (!found || !isOwn(found, actor)) throw noSuchSubmission(id)
  return found
}

/** Somebody else may have sent it. Throws CONFLICT. */
export function assertConfirmed({ id, provenAt }: SubmissionRecord): void {
  if (provenAt !== null) return
  throw problem('CONFLICT', `Submission ${id} is not confirmed. fix: POST /api/vendor/v1/submissions/${id}/confirm, if you sent it`)
}

export const showVendorSubmission = async ({ db }: Deps, actor: VendorActor, { id }: One): Promise<VendorSubmissionDetail> =>
  vendorSubmissionView(db, await ownSubmission(db, actor, id))

/** A vendor as operators read it, with the newest of its items and of the submissions of its address. Throws NOT_FOUND. */
export async function showVendor({ db }: Deps, { id }: One) {
  const vendor = await findVendor(db, { id })
  if (!vendor) throw problem('NOT_FOUND', `Vendor ${id} does not exist. fix: tenantry marketplace vendors list`)
  const items = await itemsOf(db, { vendorIds: [id], limit: 200 })
  const { submissions } = await listVendorSubmissions({ db }, { email: vendor.contactEmail.toLowerCase() }, { limit: 50 })
  return { ...vendor, items: await withInstallations(db, items), submissions }
}
