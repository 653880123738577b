import type { Selectable } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import type { ItemStatus, ItemType, PriceModel } from '../../core/marketplace/index.ts'
import { type DbOrTx, forUpdate, newestFirst, type Tx } from '../db/index.ts'
import type { ItemTable } from './marketplace.tables.ts'

/** An item. Times are ISO 8601, prices integer cents. */
export type ItemRecord = Readonly<{
  id: string
  itemType: ItemType
  slug: string
  name: string
  description: string
  iconEmoji: string
  category: string
  vendorId: string | null
  vendorName: string
  version: string
  status: ItemStatus
  priceModel: PriceModel | null
  priceCents: number | null
  currency: string | null
  paymentProductId: string | null
  paymentPriceId: string | null
  /** `{templateExport}` of a flow, `{manifest}` of an app. */
  bundle: Readonly<Record<string, unknown>>
  screenshots: readonly string[]
  seedKey: string | null
  seedHash: string | null
  changedByAdmin: boolean
  withdrawnAt: string | null
  publishedAt: string | null
  createdAt: string
  updatedAt: string
}>

/** An item in a list: a bundle has up to 1 MB. */
export type ListedItemRecord = Omit<ItemRecord, 'bundle'>

const toListed = (row: Omit<Selectable<ItemTable>, 'bundle'>): ListedItemRecord => ({
  ...{ id: row.id, itemType: row.item_type, slug: row.slug, name: row.name, description: row.description },
  ...{ iconEmoji: row.icon_emoji, category: row.category, vendorId: row.vendor_id, vendorName: row.vendor_name },
  ...{ version: row.version, status: row.status, priceModel: row.price_model, priceCents: row.price_cents },
  ...{ currency: row.currency, paymentProductId: row.payment_product_id, paymentPriceId: row.payment_price_id },
  screenshots: JSON.parse(row.screenshots) as string[],
  ...{ seedKey: row.seed_key, seedHash: row.seed_hash, changedByAdmin: row.changed_by_admin === 1 },
  ...{ withdrawnAt: row.withdrawn_at, publishedAt: row.published_at, createdAt: row.created_at, updatedAt: row.updated_at },
})

const toItem = (row: Selectable<ItemTable>): ItemRecord => ({
  ...toListed(row),
  bundle: JSON.parse(row.bundle) as Record<string, unknown>,
})

const toRow = (one: ItemRecord) => ({
  ...{ id: one.id, item_type: one.itemType, slug: one.slug, name: one.name, description: one.description },
  ...{ icon_emoji: one.iconEmoji, category: one.category, vendor_id: one.vendorId, vendor_name: one.vendorName },
  ...{ version: one.version, status: one.status, price_model: one.priceModel, price_cents: one.priceCents, currency: one.currency },
  ...{ payment_product_id: one.paymentProductId, payment_price_id: one.paymentPriceId },
  ...{ bundle: JSON.stringify(one.bundle), screenshots: JSON.stringify(one.screenshots) },
  ...{ seed_key: one.seedKey, seed_hash: one.seedHash, changed_by_admin: one.changedByAdmin ? 1 : 0 },
  ...{ withdrawn_at: one.withdrawnAt, published_at: one.publishedAt, created_at: one.createdAt, updated_at: one.updatedAt },
})

type Listing = Readonly<{
  status?: ItemStatus | undefined
  type?: ItemType | undefined
  category?: string | undefined
  /** Only these, or all but these. */
  ids?: Readonly<{ only: readonly string[] } | { without: readonly string[] }> | undefined
  /** Only items of these vendors. */
  vendorIds?: readonly string[] | undefined
  after?: PageEnd | undefined
  limit: number
}>

const listedColumns = [
  ...([
    'id',
    'item_type',
    'slug',
    'name',
    'description',
    'icon_emoji',
    'category',
    'vendor_id',
    'vendor_name',
    'version',
    'status',
  ] as const),
  ...([
    'price_model',
    'price_cents',
    'currency',
    'payment_product_id',
    'payment_price_id',
    'screenshots',
    'seed_key',
    'seed_hash',
  ] as const),
  ...(['changed_by_admin', 'withdrawn_at', 'published_at', 'created_at', 'updated_at'] as const),
] as const

/** Items without their bundles, newest first. */
export async function itemsOf(db: DbOrTx, { status, type, category, ids, vendorIds, after, limit }: Listing): Promise<ListedItemRecord[]> {
  let query = newestFirst(db.selectFrom('marketplace_items').select(listedColumns), { after, limit })
  if (status !== undefined) query = query.where('status', '=', status)
  if (type !== undefined) query = query.where('item_type', '=', type)
  if (category !== undefined) query = query.where('category', '=', category)
  if (vendorIds) {
    if (vendorIds.length === 0) return []
    query = query.where('vendor_id', 'in', [...vendorIds])
  }
  if (ids && 'only' in ids) {
    if (ids.only.length === 0) return []
    query = query.where('id', 'in', [...ids.only])
  } else if (ids && ids.without.length > 0) query = query.where('id', 'not in', [...ids.without])
  return (await query.execute()).map(toListed)
}

export async function findItem(db: DbOrTx, id: string): Promise<ItemRecord | undefined> {
  const row = await db.selectFrom('marketplace_items').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toItem(row)
}

/** The item, locked until the transaction ends. */
export async function lockItem(tx: Tx, id: string): Promise<ItemRecord | undefined> {
  const row = await tx.selectFrom('marketplace_items').selectAll().where('id', '=', id).modifyEnd(forUpdate(tx)).executeTakeFirst()
  return row && toItem(row)
}

export async function insertItem(tx: Tx, one: ItemRecord): Promise<void> {
  await tx.insertInto('marketplace_items').values(toRow(one)).execute()
}

/** Replaces a row that the transaction has locked. */
export async function replaceItem(tx: Tx, one: ItemRecord): Promise<void> {
  const { id, ...rest } = toRow(one)
  await tx.updateTable('marketplace_items').set(rest).where('id', '=', id).execute()
}

/** Slugs that begin as the given one. */
export async function takenSlugs(tx: Tx, slug: string): Promise<ReadonlySet<string>> {
  // A suffix may shorten the slug, so that at most 70 characters are sure to be shared.
  const start = slug.slice(0, 70)
  const rows = await tx.selectFrom('marketplace_items').select('slug').where('slug', 'like', `${start}%`).execute()
  return new Set(rows.map((row) => row.slug))
}

/** Items show the name of their vendor. */
export async function renameVendor(tx: Tx, { vendorId, name }: Readonly<{ vendorId: string; name: string }>): Promise<void> {
  await tx.updateTable('marketplace_items').set({ vendor_name: name }).where('vendor_id', '=', vendorId).execute()
}

/** The item of a seed, locked until the transaction ends. */
export async function lockSeed(tx: Tx, seedKey: string): Promise<ItemRecord | undefined> {
  const row = await tx
    .selectFrom('marketplace_items')
    .selectAll()
    .where('seed_key', '=', seedKey)
    .modifyEnd(forUpdate(tx))
    .executeTakeFirst()
  return row && toItem(row)
}
