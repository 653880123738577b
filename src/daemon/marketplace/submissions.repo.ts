import type { Selectable } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import type { ItemType, PriceModel, SubmissionStatus } from '../../core/marketplace/index.ts'
import { type DbOrTx, forUpdate, newestFirst, type Tx } from '../db/index.ts'
import type { SubmissionTable } from './marketplace.tables.ts'

/** A submission without its bundle, which has up to 1 MB. */
export type SubmissionRecord = Readonly<{
  id: string
  itemType: ItemType
  name: string
  description: string
  iconEmoji: string
  category: string
  version: string
  vendorId: string | null
  vendorName: string
  vendorEmail: string
  vendorCountry: string
  priceModel: PriceModel | null
  priceCents: number | null
  currency: string | null
  warnings: readonly string[]
  status: SubmissionStatus
  /** 1 for the first sending; each repeated one raises it. */
  round: number
  provenAt: string | null
  reviewNotes: string | null
  reviewedAt: string | null
  reviewedBy: string | null
  /** The item that it is a new version of, sent from the account of its vendor. */
  itemId: string | null
  approvedItemId: string | null
  createdAt: string
  updatedAt: string
}>

type Bundle = Readonly<Record<string, unknown>>

export type SubmissionWithBundle = SubmissionRecord & Readonly<{ bundle: Bundle }>

const columns = [
  ...(['id', 'item_type', 'name', 'description', 'icon_emoji', 'category', 'version', 'vendor_id', 'vendor_name', 'vendor_email'] as const),
  ...(['vendor_country', 'price_model', 'price_cents', 'currency', 'warnings', 'status', 'round', 'proven_at', 'review_notes'] as const),
  ...(['reviewed_at', 'reviewed_by', 'item_id', 'approved_item_id', 'created_at', 'updated_at'] as const),
] as const

const toSubmission = (row: Omit<Selectable<SubmissionTable>, 'bundle'>): SubmissionRecord => ({
  ...{ id: row.id, itemType: row.item_type, name: row.name, description: row.description, iconEmoji: row.icon_emoji },
  ...{ category: row.category, version: row.version, vendorId: row.vendor_id, vendorName: row.vendor_name },
  ...{ vendorEmail: row.vendor_email, vendorCountry: row.vendor_country, priceModel: row.price_model, priceCents: row.price_cents },
  ...{ currency: row.currency, warnings: JSON.parse(row.warnings) as string[] },
  ...{ status: row.status, round: row.round, provenAt: row.proven_at, reviewNotes: row.review_notes, reviewedAt: row.reviewed_at },
  ...{
    reviewedBy: row.reviewed_by,
    itemId: row.item_id,
    approvedItemId: row.approved_item_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  },
})

const toRow = (one: SubmissionRecord) => ({
  ...{ id: one.id, item_type: one.itemType, name: one.name, description: one.description, icon_emoji: one.iconEmoji },
  ...{ category: one.category, version: one.version, vendor_id: one.vendorId, vendor_name: one.vendorName },
  ...{ vendor_email: one.vendorEmail, vendor_country: one.vendorCountry, price_model: one.priceModel, price_cents: one.priceCents },
  ...{ currency: one.currency, warnings: JSON.stringify(one.warnings), status: one.status },
  ...{ round: one.round, proven_at: one.provenAt, review_notes: one.reviewNotes, reviewed_at: one.reviewedAt },
  ...{
    reviewed_by: one.reviewedBy,
    item_id: one.itemId,
    approved_item_id: one.approvedItemId,
    created_at: one.createdAt,
    updated_at: one.updatedAt,
  },
})

type Listing = Readonly<{ status?: SubmissionStatus | undefined; email?: string | undefined; after?: PageEnd | undefined; limit: number }>

/** Submissions, newest first. */
export async function submissionsOf(db: DbOrTx, { status, email, ...page }: Listing): Promise<SubmissionRecord[]> {
  let query = newestFirst(db.selectFrom('marketplace_submissions').select(columns), page)
  if (status !== undefined) query = query.where('status', '=', status)
  if (email !== undefined) query = query.where(({ fn }) => fn<string>('lower', ['vendor_email']), '=', email)
  return (await query.execute()).map(toSubmission)
}

/** Submissions that became an item or a version of it, or are to, newest first. */
export async function versionsOf(db: DbOrTx, itemId: string): Promise<SubmissionRecord[]> {
  const rows = await db
    .selectFrom('marketplace_submissions')
    .select(columns)
    .where(({ eb, or }) => or([eb('item_id', '=', itemId), eb('approved_item_id', '=', itemId)]))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(100)
    .execute()
  return rows.map(toSubmission)
}

export async function findSubmission(db: DbOrTx, id: string): Promise<SubmissionRecord | undefined> {
  const row = await db.selectFrom('marketplace_submissions').select(columns).where('id', '=', id).executeTakeFirst()
  return row && toSubmission(row)
}

/** The submission, locked until the transaction ends. */
export async function lockSubmission(tx: Tx, id: string): Promise<SubmissionRecord | undefined> {
  const row = await tx
    .selectFrom('marketplace_submissions')
    .select(columns)
    .where('id', '=', id)
    .modifyEnd(forUpdate(tx))
    .executeTakeFirst()
  return row && toSubmission(row)
}

/** The bundle of a submission that exists. */
export async function bundleOf(db: DbOrTx, id: string): Promise<Bundle> {
  const { bundle } = await db.selectFrom('marketplace_submissions').select('bundle').where('id', '=', id).executeTakeFirstOrThrow()
  return JSON.parse(bundle) as Bundle
}

export async function insertSubmission(tx: Tx, one: SubmissionWithBundle): Promise<void> {
  await tx
    .insertInto('marketplace_submissions')
    .values({ ...toRow(one), bundle: JSON.stringify(one.bundle) })
    .execute()
}

/** Replaces a row that the transaction has locked. Without a bundle the stored one stays. */
export async function replaceSubmission(
  tx: Tx,
  { bundle, ...one }: SubmissionRecord & Readonly<{ bundle?: Bundle | undefined }>,
): Promise<void> {
  const { id, ...rest } = toRow(one)
  const sent = bundle === undefined ? {} : { bundle: JSON.stringify(bundle) }
  await tx
    .updateTable('marketplace_submissions')
    .set({ ...rest, ...sent })
    .where('id', '=', id)
    .execute()
}
