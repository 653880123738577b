import { isPaymentFailure } from '../../../core/payments/index.ts'
import type { BillingDeps } from './deps.ts'
import type { ModuleUsageRow } from './module-usage.repo.ts'

type Deps = Pick<BillingDeps, 'provider'>

type Payable = Readonly<{ rows: readonly ModuleUsageRow[]; customerId: string | null }>

/**
 * Rows by the customer that pays them. One that may be charged keeps the customer of its first call, also after the tenant got another one: while it is
 * planned, and as long as the provider has its item. Throws a PaymentFailure.
 */
export async function payersOf({ provider }: Deps, { rows, customerId }: Payable): Promise<Map<string | null, ModuleUsageRow[]>> {
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
