import { type Problem, problem } from '../kit/index.ts'
import type { ProviderAccount } from './records.ts'

export type AccountState = 'pending' | 'active' | 'restricted'

type Facts = Pick<ProviderAccount, 'chargesEnabled' | 'payoutsEnabled' | 'transfersEnabled' | 'pastDue' | 'disabledReason'>

/**
 * `active` needs charges, payouts and transfers, and no requirement past due. An account that was active and is not any more, or that the
 * provider disabled or waits on, is `restricted`; one that was never complete is `pending`.
 */
export function accountStateOf(account: Facts, before: AccountState): AccountState {
  const isComplete = account.chargesEnabled && account.payoutsEnabled && account.transfersEnabled
  if (isComplete && account.pastDue.length === 0) return 'active'
  return before !== 'pending' || (isComplete && account.pastDue.length > 0) || isRejected(account) ? 'restricted' : 'pending'
}

/** The provider closed the account; a new account reports missing requirements instead. */
const isRejected = ({ disabledReason }: Facts): boolean => disabledReason?.startsWith('rejected.') ?? false

type Vendor = Readonly<{ name: string; accountStatus: AccountState; chargesEnabled: boolean; payoutsEnabled: boolean }>

/** Throws VENDOR_INACTIVE unless the vendor may be paid. */
export function assertVendorIsPayable({ name, accountStatus, chargesEnabled, payoutsEnabled }: Vendor): void {
  if (accountStatus === 'active' && chargesEnabled && payoutsEnabled) return
  throw vendorInactive(name, accountStatus)
}

const vendorInactive = (name: string, status: AccountState): Problem =>
  problem(
    'VENDOR_INACTIVE',
    `The payment account of the vendor ${name} is ${status}, so paid items of this vendor cannot be installed. ` +
      'fix: ask the operator of the platform to complete or sync the vendor account',
  )
