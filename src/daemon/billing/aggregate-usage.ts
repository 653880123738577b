import { alertOf } from '../../core/alerts/index.ts'
import { type Month, monthBefore, monthOf, monthsBetween } from '../../core/billing/index.ts'
import { isoNow, newId, plural, problem } from '../../core/kit/index.ts'
import { isPaymentFailure, moneyText, type ProviderInvoice } from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type DbOrTx, enqueueJob, type JobHandler } from '../db/index.ts'
import { createOnce } from '../payments/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { BillingDeps } from './deps.ts'
import { type ActiveModule, type ModuleUsageRow, uncountedModules, usageIn, usageOfTenant } from './module-usage.repo.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'random' | 'provider' | 'log' | 'currency' | 'pricedModule' | 'recordModules'>

type BillDeps = Pick<Deps, 'db' | 'clock' | 'provider' | 'log' | 'currency'>

export const unbilledTopic = 'billing.unbilled-modules'

const system = { kind: 'system', name: 'billing' } as const
const monthsBack = 12
const batch = 500

/**
 * Gives each paid module of a tenant and month one row with its price, and one item on an invoice of that tenant and month. Rows without customer or
 * provider are unbilled and tried again by the next run.
 */
export async function aggregateUsage(deps: Deps, signal: AbortSignal): Promise<string> {
  const recorded = await deps.recordModules(signal)
  const last = monthBefore(monthOf(isoNow(deps.clock)))
  let added = 0
  for (const month of monthsBetween(monthBefore(last, monthsBack - 1), last)) added += await addRows(deps, month, signal)
  const { billed, unbilled, isAway } = await billAndWatch(deps, signal)
  if (isAway)
    await deps.db
      .transaction()
      .execute((tx) => enqueueJob(tx, deps.clock, { topic: unbilledTopic, payload: {}, key: unbilledTopic, pool: 'mail' }))
  return `${recorded}; ${plural(added, 'module month')} priced, ${billed} billed, ${unbilled.length} unbilled`
}

/** Bills what the monthly job could not bill because the provider did not answer. */
export const billUnbilled =
  (deps: Deps): JobHandler =>
  async (_, { signal = new AbortController().signal }) => {
    const { unbilled, isAway } = await billAndWatch(deps, signal)
    if (isAway)
      throw problem('PAYMENTS_UNAVAILABLE', `${plural(unbilled.length, 'module month')} not billed. fix: wait; the job is retried`)
  }

async function billAndWatch(deps: Deps, signal: AbortSignal): Promise<Billed> {
  const done = await billRows(deps, signal)
  await watchUnbilled(deps, done.unbilled)
  return done
}

async function addRows(deps: Deps, month: Month, signal: AbortSignal): Promise<number> {
  const { db } = deps
  let added = 0
  for (let after = { tenantId: '', moduleId: '' }, last = batch; last === batch && !signal.aborted; ) {
    const found = await uncountedModules(db, { month, after, limit: batch })
    const rows = await pricedRows(deps, month, found)
    await insertRows(db, rows)
    added += rows.length
    last = found.length
    after = found.at(-1) ?? after
  }
  return added
}

/** Rows of modules with a price, as it is now. */
export async function pricedRows(
  deps: Pick<Deps, 'db' | 'clock' | 'random' | 'pricedModule'>,
  month: Month,
  modules: readonly ActiveModule[],
) {
  const { db, clock, random } = deps
  const now = isoNow(clock)
  const rows: ModuleUsageRow[] = []
  for (const module of modules) {
    const priced = await deps.pricedModule(db, module)
    if (!priced?.price || priced.price.cents === 0) continue
    rows.push({
      ...{ id: newId(random, 'mus'), tenant_id: module.tenantId, module_id: module.moduleId, month, developer_id: priced.developerId },
      ...{ price_cents: priced.price.cents, currency: priced.price.currency, state: 'planned' as const, reason: null, customer_id: null },
      ...{
        invoice_id: null,
        invoice_item_id: null,
        refunded_cents: 0,
        counted_cents: 0,
        payout_id: null,
        created_at: now,
        updated_at: now,
      },
    })
  }
  return rows
}

/** A module has one row for a tenant and month; one that is there stays. */
export async function insertRows(db: DbOrTx, rows: readonly ModuleUsageRow[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .insertInto('billing_usage')
    .values([...rows])
    .onConflict((c) => c.columns(['tenant_id', 'module_id', 'month']).doNothing())
    .execute()
}

/** `isAway`: the provider did not answer for one of them. */
type Billed = Readonly<{ billed: number; unbilled: readonly ModuleUsageRow[]; isAway: boolean }>

async function billRows(deps: Deps, signal: AbortSignal): Promise<Billed> {
  let billed = 0
  let isAway = false
  const unbilled: ModuleUsageRow[] = []
  const done = new Set<string>()
  for (let after = '', last = batch; last === batch && !signal.aborted; ) {
    const rows = await usageIn(deps.db, ['planned', 'unbilled'], { after, limit: batch })
    for (const { tenant_id: tenantId, month } of rows) {
      if (done.has(`${tenantId} ${month}`) || signal.aborted) continue
      done.add(`${tenantId} ${month}`)
      // Its deletion bills it, and detaches what is billed.
      if ((await tenantById(deps.db, tenantId))?.status === 'deleting') continue
      const of = await billTenant(deps, { tenantId, month })
      billed += of.billed
      unbilled.push(...of.unbilled)
      isAway ||= of.isAway
    }
    last = rows.length
    after = rows.at(-1)?.id ?? after
  }
  return { billed, unbilled, isAway }
}

type Tenant = Readonly<{ tenantId: string; month: Month }>

/** Puts the rows of a tenant and month on an invoice; those that cannot be billed get the reason. */
export async function billTenant(deps: BillDeps, { tenantId, month }: Tenant): Promise<Billed> {
  const all = await usageOfTenant(deps.db, { tenantId, month })
  const rows = all.filter(({ state }) => state === 'planned' || state === 'unbilled')
  const tenant = await tenantById(deps.db, tenantId)
  const customerId = tenant?.paymentCustomerId ?? null
  const reasonOf = ({ currency }: ModuleUsageRow): string | null => {
    if (deps.provider.name === 'none') return 'the platform has no payment provider'
    if (customerId === null) return 'the tenant has no payment customer'
    return currency === deps.currency
      ? null
      : `the price is in ${currency.toUpperCase()}, and the platform bills ${deps.currency.toUpperCase()}`
  }
  const refused = rows.filter((row) => reasonOf(row) !== null)
  for (const row of refused) await setUnbilled(deps, row, reasonOf(row) as string)
  const billable = rows.filter((row) => reasonOf(row) === null)
  if (billable.length === 0 || customerId === null) return { billed: 0, unbilled: refused, isAway: false }
  try {
    await billOnInvoice(deps, { tenantId, month, slug: tenant?.slug ?? tenantId, customerId, rows: billable })
    return { billed: billable.length, unbilled: refused, isAway: false }
  } catch (error) {
    if (!isPaymentFailure(error)) throw error
    deps.log.warn({ tenantId, month, reason: error.message }, 'modules were not billed')
    // A call that may have been carried out leaves the rows planned; the next run looks for its objects.
    if (!error.isRetryable) for (const row of billable) await setUnbilled(deps, row, error.message)
    return { billed: 0, unbilled: [...refused, ...billable], isAway: error.isRetryable }
  }
}

const setUnbilled = async ({ db, clock }: BillDeps, { id }: ModuleUsageRow, reason: string): Promise<void> => {
  await db
    .updateTable('billing_usage')
    .set({ state: 'unbilled', reason, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .where('state', 'in', ['planned', 'unbilled'])
    .execute()
}

type ToBill = Tenant & Readonly<{ slug: string; customerId: string; rows: readonly ModuleUsageRow[] }>

/** An invoice of its own: on that of a subscription the price would be paid to the vendor of another item. */
async function billOnInvoice(deps: BillDeps, { tenantId, month, slug, customerId, rows }: ToBill): Promise<void> {
  const { provider, db, clock } = deps
  const known = new Map((await provider.listInvoiceItems(customerId)).map((item) => [item.metadata.svc_usage ?? '', item]))
  const mark = `${tenantId}:${month}`
  const own = async () => (await provider.listInvoices({ customerId })).filter(({ metadata }) => metadata.svc_modules === mark)
  const before = await own()
  let draft = before.find(({ status }) => status === 'draft')
  const placed = new Map<string, Readonly<{ itemId: string; invoiceId: string | null }>>()
  for (const row of rows) {
    const item = known.get(row.id)
    if (item) {
      placed.set(row.id, { itemId: item.id, invoiceId: item.invoiceId })
      continue
    }
    draft ??= await createOnce(
      `usage-invoice:${mark}:${before.length}`,
      (key) =>
        provider.createInvoice({
          ...{ key, customerId, currency: deps.currency, description: `Modules in ${month}` },
          metadata: { svc_kind: 'usage', svc_modules: mark },
        }),
      async () => (await own()).find(({ status }) => status === 'draft'),
    )
    const on = { invoiceId: draft.id }
    const created = await createOnce(
      `usage:${tenantId}:${row.module_id}:${month}`,
      (key) =>
        provider.createInvoiceItem({
          ...{ key, customerId, amount: { cents: row.price_cents, currency: row.currency }, on },
          ...{ description: `Module ${row.module_id} in ${month}`, metadata: { svc_kind: 'usage', svc_usage: row.id } },
        }),
      async () => (await provider.listInvoiceItems(customerId)).find(({ metadata }) => metadata.svc_usage === row.id),
    )
    placed.set(row.id, { itemId: created.id, invoiceId: draft.id })
  }
  for (const invoiceId of new Set([...placed.values()].map((one) => one.invoiceId)))
    if (invoiceId !== null) await finishDraft(deps, invoiceId)
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

/** One alert for all of it. */
const watchUnbilled = ({ db, clock }: Deps, rows: readonly ModuleUsageRow[]): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (rows.length === 0)
      return closeAlerts(tx, clock, { subject: 'billing', keys: ['usage_unbilled'], because: 'all modules are billed' })
    const cents = rows.reduce((sum, row) => sum + row.price_cents, 0)
    const [first] = rows
    await raiseAlert(tx, clock, alertOf.usage_unbilled({ count: rows.length, cents, currency: first?.currency ?? '' }))
  })
