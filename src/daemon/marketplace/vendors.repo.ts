import type { Selectable } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import { feeHundredths, type ItemType, type Vendor } from '../../core/marketplace/index.ts'
import { type DbOrTx, forUpdate, lockExclusive, newestFirst, type Tx } from '../db/index.ts'
import type { VendorTable } from './marketplace.tables.ts'

const toVendor = (row: Selectable<VendorTable>): Vendor => ({
  ...{ id: row.id, name: row.name, contactEmail: row.contact_email, country: row.country },
  ...{ paymentAccountId: row.payment_account_id, paymentAccountStatus: row.payment_account_status },
  ...{ chargesEnabled: row.charges_enabled === 1, payoutsEnabled: row.payouts_enabled === 1 },
  applicationFeePercent: row.application_fee_hundredths / 100,
  ...{ createdAt: row.created_at, updatedAt: row.updated_at },
})

const toRow = (one: Vendor) => ({
  ...{ id: one.id, name: one.name, contact_email: one.contactEmail, country: one.country },
  ...{ payment_account_id: one.paymentAccountId, payment_account_status: one.paymentAccountStatus },
  ...{ charges_enabled: one.chargesEnabled ? 1 : 0, payouts_enabled: one.payoutsEnabled ? 1 : 0 },
  application_fee_hundredths: feeHundredths(one.applicationFeePercent),
  ...{ created_at: one.createdAt, updated_at: one.updatedAt },
})

/** Vendors, newest first. */
export async function vendorsOf(db: DbOrTx, page: Readonly<{ after?: PageEnd | undefined; limit: number }>): Promise<Vendor[]> {
  return (await newestFirst(db.selectFrom('marketplace_vendors').selectAll(), page).execute()).map(toVendor)
}

/** Vendors with a contact address in lower case, oldest first. */
export async function vendorsOfAddress(db: DbOrTx, email: string): Promise<Vendor[]> {
  const rows = await db
    .selectFrom('marketplace_vendors')
    .selectAll()
    .where(({ fn }) => fn<string>('lower', ['contact_email']), '=', email)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toVendor)
}

export const vendorIdsOf = async (db: DbOrTx, { email }: Readonly<{ email: string }>): Promise<string[]> =>
  (await vendorsOfAddress(db, email)).map(({ id }) => id)

type Contact = Readonly<{ email: string; itemType: ItemType }>

/** Vendors with a contact address and their items of a type, newest first. */
export async function vendorsWithAddress(db: DbOrTx, { email, itemType }: Contact) {
  const vendors = await db
    .selectFrom('marketplace_vendors')
    .select(['id', 'name'])
    .where(({ fn }) => fn<string>('lower', ['contact_email']), '=', email.toLowerCase())
    .orderBy('created_at', 'desc')
    .limit(20)
    .execute()
  if (vendors.length === 0) return []
  const items = await db
    .selectFrom('marketplace_items')
    .select(['id', 'name', 'version', 'vendor_id'])
    .where(
      'vendor_id',
      'in',
      vendors.map(({ id }) => id),
    )
    .where('item_type', '=', itemType)
    .orderBy('created_at', 'desc')
    .limit(50)
    .execute()
  return vendors.map((vendor) => ({
    ...vendor,
    items: items.filter((item) => item.vendor_id === vendor.id).map(({ id, name, version }) => ({ id, name, version })),
  }))
}

/**
 * The id of the oldest vendor with an address that a submission joins by itself. One whose address is not proven joins only a vendor that other
 * such submissions made: it must not take the name of a vendor that is known by more.
 */
export async function vendorOfAddress(
  tx: Tx,
  { email, proven }: Readonly<{ email: string; proven: boolean }>,
): Promise<string | undefined> {
  const found = await (proven ? tx.selectFrom('marketplace_vendors').select('id') : madeByStrangers(tx))
    .where(({ fn }) => fn<string>('lower', ['contact_email']), '=', email)
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirst()
  return found?.id
}

/** Vendors for which only unconfirmed submissions stand: no confirmed one, no operator, no payment account, no modules of a developer. */
const madeByStrangers = (tx: Tx) =>
  tx
    .selectFrom('marketplace_vendors')
    .select('id')
    .where('payment_account_id', 'is', null)
    .where(({ exists, not, and, selectFrom }) => {
      const ofVendor = selectFrom('marketplace_submissions').select('id').whereRef('vendor_id', '=', 'marketplace_vendors.id')
      const ofModules = selectFrom('billing_developers').select('developer_id').whereRef('vendor_id', '=', 'marketplace_vendors.id')
      return and([exists(ofVendor), not(exists(ofVendor.where('proven_at', 'is not', null))), not(exists(ofModules))])
    })

export const isOfStrangers = async (tx: Tx, id: string): Promise<boolean> =>
  (await madeByStrangers(tx).where('id', '=', id).executeTakeFirst()) !== undefined

/** Approvals and proofs for one address run one after the other, so that they make one vendor. */
export const lockAddress = (tx: Tx, email: string): Promise<void> => lockExclusive(tx, `marketplace-vendor ${email}`)

type Merged = Readonly<{ from: string; to: Vendor }>

/** Moves items and submissions to another vendor, and deletes the former one. Returns the ids of the items. */
export async function mergeVendor(tx: Tx, { from, to }: Merged): Promise<string[]> {
  const items = await tx
    .updateTable('marketplace_items')
    .set({ vendor_id: to.id, vendor_name: to.name })
    .where('vendor_id', '=', from)
    .returning('id')
    .execute()
  await tx.updateTable('marketplace_submissions').set({ vendor_id: to.id }).where('vendor_id', '=', from).execute()
  await tx.deleteFrom('marketplace_vendors').where('id', '=', from).execute()
  return items.map(({ id }) => id)
}

export async function findVendor(db: DbOrTx, key: Readonly<{ id: string } | { paymentAccountId: string }>): Promise<Vendor | undefined> {
  const query = db.selectFrom('marketplace_vendors').selectAll()
  const found = 'id' in key ? query.where('id', '=', key.id) : query.where('payment_account_id', '=', key.paymentAccountId)
  const row = await found.executeTakeFirst()
  return row && toVendor(row)
}

/** The vendor, locked until the transaction ends. */
export async function lockVendor(tx: Tx, id: string): Promise<Vendor | undefined> {
  const row = await tx.selectFrom('marketplace_vendors').selectAll().where('id', '=', id).modifyEnd(forUpdate(tx)).executeTakeFirst()
  return row && toVendor(row)
}

export async function insertVendor(tx: Tx, one: Vendor): Promise<void> {
  await tx.insertInto('marketplace_vendors').values(toRow(one)).execute()
}

/** Replaces a row that the transaction has locked. */
export async function replaceVendor(tx: Tx, one: Vendor): Promise<void> {
  const { id, ...rest } = toRow(one)
  await tx.updateTable('marketplace_vendors').set(rest).where('id', '=', id).execute()
}

/** Whether the last sync found no account of the vendor at the provider. */
export async function isAccountGone(db: DbOrTx, id: string): Promise<boolean> {
  const row = await db.selectFrom('marketplace_vendors').select('payment_account_gone as gone').where('id', '=', id).executeTakeFirst()
  return row?.gone === 1
}

export async function storeAccountGone(tx: Tx, { id, isGone }: Readonly<{ id: string; isGone: boolean }>): Promise<void> {
  const payment_account_gone = isGone ? 1 : 0
  await tx.updateTable('marketplace_vendors').set({ payment_account_gone }).where('id', '=', id).execute()
}
