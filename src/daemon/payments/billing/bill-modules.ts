import { type Month, monthBefore, monthOf } from '../../../core/billing/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { isPaymentFailure, moneyText, type ProviderInvoice } from '../../../core/payments/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { tenantById } from '../../tenants/index.ts'
import { createOnce } from '../prices.ts'
import type { BillingDeps } from './deps.ts'
import { type ModuleUsageRow, usageOfTenant } from './module-usage.repo.ts'

type BillDeps = Pick<BillingDeps, 'db' | 'clock' | 'provider' | 'log' | 'currency'>

const system = { kind: 'system', name: 'billing' } as const

/** Finished months that are priced and billed. */
export const monthsBack = 12
export const oldestBilled = (now: string): Month => monthBefore(monthOf(now), monthsBack)

/** `isAway`: the provider did not answer for one of them. */
export type Billed = Readonly<{ billed: number; unbilled: readonly ModuleUsageRow[]; isAway: boolean }>

type Tenant = Readonly<{ tenantId: string; month: Month }>

/** Puts the rows of a tenant and month on an invoice; those that cannot be billed get the reason. */
export async function billTenant(deps: BillDeps, { tenantId, month }: Tenant): Promise<Billed> {
  const all = await usageOfTenant(deps.db, { tenantId, month })
  const isTooOld = month < oldestBilled(isoNow(deps.clock))
  // A planned one may be on an invoice already, whatever its age.
  const rows = all.filter(({ state }) => state === 'planned' || (state === 'unbilled' && !isTooOld))
  const tenant = await tenantById(deps.db, tenantId)
  try {
    const payers = await payersOf(deps, { rows, customerId: tenant?.paymentCustomerId ?? null })
    const refused: ModuleUsageRow[] = []
    const total = { billed: 0, unbilled: refused, isAway: false }
    for (const [customerId, of] of payers) {
      const reasonOf = ({ currency }: ModuleUsageRow): string | null => {
        if (deps.provider.name === 'none') return 'the platform has no payment provider'
        if (customerId === null) return 'the tenant has no payment customer'
        return currency === deps.currency
          ? null
          : `the price is in ${currency.toUpperCase()}, and the platform bills ${deps.currency.toUpperCase()}`
      }
      const billable: ModuleUsageRow[] = []
      for (const row of of) {
        const reason = reasonOf(row)
        if (reason !== null) await setUnbilled(deps, row, reason)
        ;(reason === null ? billable : refused).push(row)
      }
      if (customerId === null) continue
      const isFormer = customerId !== tenant?.paymentCustomerId
      const done = await billCustomer(deps, { tenantId, month, slug: tenant?.slug ?? tenantId, customerId, isFormer, rows: billable })
      total.billed += done.billed
      total.isAway ||= done.isAway
      refused.push(...done.unbilled)
    }
    return total
  } catch (error) {
    if (!isPaymentFailure(error)) throw error
    deps.log.warn({ tenantId, month, reason: error.message }, 'modules were not billed')
    return { billed: 0, unbilled: rows, isAway: error.isRetryable }
  }
}

async function billCustomer(deps: BillDeps, toBill: ToBill): Promise<Billed> {
  const { tenantId, month } = toBill
  const rows = await plan(deps, toBill)
  if (rows.length === 0) return { billed: 0, unbilled: [], isAway: false }
  try {
    await billOnInvoice(deps, { ...toBill, rows })
    return { billed: rows.length, unbilled: [], isAway: false }
  } catch (error) {
    if (!isPaymentFailure(error)) throw error
    deps.log.warn({ tenantId, month, reason: error.message }, 'modules were not billed')
    // A call that may have been carried out leaves the rows planned; the next run looks for its objects.
    if (!error.isRetryable) for (const row of rows) await setUnbilled(deps, row, refusalOf(error.message, toBill))
    return { billed: 0, unbilled: rows, isAway: error.isRetryable }
  }
}

/** A refused draft at a former customer could still be finalised there: the rows are charged to another one only after it is gone. */
const refusalOf = (message: string, { isFormer, customerId, month }: ToBill): string =>
  isFormer
    ? `${message} (former customer ${customerId}). fix: correct that customer in the Dashboard of the provider; or delete the invoice items and the draft "${titleOf(month)}" there, and the next run charges the customer that the tenant has then`
    : message

const titleOf = (month: Month): string => `Modules in ${month}`

/**
 * Before the first call: from then on nothing may be waived or charged to another customer, because a call without answer may have charged it. Returns
 * those not waived before.
 */
async function plan({ db, clock }: BillDeps, { rows, customerId }: Pick<ToBill, 'rows' | 'customerId'>): Promise<ModuleUsageRow[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const planned = await db
    .updateTable('billing_usage')
    .set({ state: 'planned', reason: null, customer_id: customerId, updated_at: isoNow(clock) })
    .where('id', 'in', ids)
    .where('state', 'in', ['planned', 'unbilled'])
    // Another replica may have begun with another customer.
    .where(({ eb, or }) => or([eb('state', '=', 'unbilled'), eb('customer_id', 'is', null), eb('customer_id', '=', customerId)]))
    .returning('id')
    .execute()
  return rows.filter(({ id }) => planned.some((one) => one.id === id))
}

export const setUnbilled = async ({ db, clock }: BillDeps, { id }: ModuleUsageRow, reason: string): Promise<void> => {
  await db
    .updateTable('billing_usage')
    .set({ state: 'unbilled', reason, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .where('state', 'in', ['planned', 'unbilled'])
    .execute()
}

type ToBill = Tenant & Readonly<{ slug: string; customerId: string; isFormer: boolean; rows: readonly ModuleUsageRow[] }>

/** An invoice of its own: on that of a subscription the price would be paid to the vendor of another item. */
async function billOnInvoice(deps: BillDeps, { tenantId, month, slug, customerId, rows }: ToBill): Promise<void> {
  const { provider, db, clock } = deps
  const known = new Map((await provider.listInvoiceItems(customerId)).map((item) => [item.metadata.svc_usage ?? '', item]))
  const mark = `${tenantId}:${month}`
  const own = async () => (await provider.listInvoices({ customerId })).filter(({ metadata }) => metadata.svc_modules === mark)
  const before = await own()
  let draft = before.find(({ status }) => status === 'draft')
  const placed = new Map<string, Readonly<{ itemId: string; invoiceId: string }>>()
  for (const row of rows) {
    const item = known.get(row.id)
    if (item && item.invoiceId !== null) {
      placed.set(row.id, { itemId: item.id, invoiceId: item.invoiceId })
      continue
    }
    // Somebody deleted its draft: it waits for an invoice of any subscription, whose vendor would be paid for it.
    if (item) await provider.deleteInvoiceItem(item.id)
    draft ??= await createOnce(
      `usage-invoice:${mark}:${customerId}:${before.length}`,
      (key) =>
        provider.createInvoice({
          ...{ key, customerId, currency: deps.currency, description: titleOf(month) },
          metadata: { svc_kind: 'usage', svc_modules: mark },
        }),
      async () => (await own()).find(({ status }) => status === 'draft'),
    )
    const on = { invoiceId: draft.id }
    const created = await createOnce(
      `usage:${tenantId}:${row.module_id}:${month}:${customerId}${item ? `:${item.id}` : ''}`,
      (key) =>
        provider.createInvoiceItem({
          ...{ key, customerId, amount: { cents: row.price_cents, currency: row.currency }, on },
          ...{ description: `Module ${row.module_id} in ${month}`, metadata: { svc_kind: 'usage', svc_usage: row.id } },
        }),
      async () => (await provider.listInvoiceItems(customerId)).find(({ metadata }) => metadata.svc_usage === row.id),
    )
    placed.set(row.id, { itemId: created.id, invoiceId: draft.id })
  }
  for (const invoiceId of new Set([...placed.values()].map((one) => one.invoiceId))) await finishDraft(deps, invoiceId)
  await db.transaction().execute(async (tx) => {
    const stored: string[] = []
    for (const row of rows) {
      const item = placed.get(row.id)
      const { numUpdatedRows } = await tx
        .updateTable('billing_usage')
        .set({
          ...{ state: 'billed', reason: null, customer_id: customerId, updated_at: isoNow(clock) },
          ...{ invoice_id: item?.invoiceId ?? null, invoice_item_id: item?.itemId ?? null },
        })
        .where('id', '=', row.id)
        .where('state', 'in', ['planned', 'unbilled'])
        .executeTakeFirst()
      if (numUpdatedRows > 0n) stored.push(`${row.module_id}: ${moneyText({ cents: row.price_cents, currency: row.currency })}`)
    }
    if (stored.length === 0) return
    const data = { tenantId, month, modules: stored, invoiceIds: [...new Set([...placed.values()].map((one) => one.invoiceId))] }
    await recordAudit(tx, clock, { actor: system, action: 'billing.modules-billed', subject: slug, data })
  })
}

/**
 * Finalises a draft, also after the provider saved an internal error for a key. Only a draft is finalised, so each try has a new key: the provider
 * would repeat a refusal for a day, also after an operator has corrected the invoice.
 */
export const finishDraft = ({ provider, clock }: Pick<BillingDeps, 'provider' | 'clock'>, invoiceId: string): Promise<ProviderInvoice> =>
  createOnce(
    `usage-finish:${invoiceId}:${isoNow(clock)}`,
    (one) => provider.finishInvoice({ key: one, invoiceId }),
    async () => {
      const found = await provider.getInvoice(invoiceId)
      return found?.status === 'draft' ? null : found
    },
  )

type Deps = Pick<BillingDeps, 'provider'>

type Payable = Readonly<{ rows: readonly ModuleUsageRow[]; customerId: string | null }>

/**
 * Rows by the customer that pays them. One that may be charged keeps the customer of its first call, also after the tenant got another one: while it is
 * planned, and as long as the provider has its item. Throws a PaymentFailure.
 */
async function payersOf({ provider }: Deps, { rows, customerId }: Payable): Promise<Map<string | null, ModuleUsageRow[]>> {
  const placed = new Map<string, ReadonlySet<string | undefined>>()
  const hasItem = async (former: string, id: string): Promise<boolean> => {
    const ids = placed.get(former) ?? new Set((await itemsOf(provider, former)).map(({ metadata }) => metadata.svc_usage))
    placed.set(former, ids)
    return ids.has(id)
  }
  const payers = new Map<string | null, ModuleUsageRow[]>()
  for (const row of rows) {
    const former = row.customer_id
    const isFormer = former !== null && former !== customerId && provider.name !== 'none'
    const stays = isFormer && (row.state === 'planned' || (await hasItem(former, row.id)))
    const payer = stays ? former : customerId
    payers.set(payer, [...(payers.get(payer) ?? []), row])
  }
  return payers
}

/** None for a customer that was deleted. */
const itemsOf = (provider: Deps['provider'], customerId: string) =>
  provider.listInvoiceItems(customerId).catch((error) => {
    if (isPaymentFailure(error, 'not_found')) return []
    throw error
  })
