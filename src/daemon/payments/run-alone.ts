import { newId } from '../../core/kit/index.ts'
import { acquireLease, releaseLease } from '../db/index.ts'
import type { PaymentsDeps } from './deps.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'random'>

/** Longer than the calls of the provider in one run may take. */
const leaseMs = 5 * 60_000

/**
 * Runs what reads from the provider and then decides by it: what another process reads or changes in between would be overwritten. Undefined while
 * another process has the name.
 */
export async function runAlone<Result extends object | string>(
  deps: Deps,
  name: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const lease = await acquireLease(deps, { name, owner: newId(deps.random, 'run'), ttlMs: leaseMs })
  if (!lease) return undefined
  try {
    return await work()
  } finally {
    await releaseLease(deps, lease)
  }
}

/** An installation charges for an item, or the former payment for it ends. */
export const paymentOfItem = ({ tenantId, itemId }: Readonly<{ tenantId: string; itemId: string }>): string =>
  `payments-item:${tenantId}:${itemId}`

/** The payments and refunds of an invoice are read and stored. */
export const paymentsOfInvoice = (invoiceId: string): string => `payments-invoice:${invoiceId}`

/** The state of the account of a vendor is read and stored. */
export const stateOfAccount = (accountId: string): string => `payments-account:${accountId}`

/** The subscriptions of a tenant's plan are read, and one of them is stored. */
export const planOfTenant = (tenantId: string): string => `payments-plan:${tenantId}`

/** After this a job looks again that has to wait for another process or for an installation. */
export const lookAgainMs = 60_000
