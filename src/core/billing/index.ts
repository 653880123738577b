// Billing: months, users that count, what a tenant will be charged, what a developer is paid, and differences with the provider.
// Money is integer cents with a currency. Pure: it reads no row and calls no provider.
export { invoiceFailedMail, paymentFailedMail, periodEndMail } from './billing-mails.ts'
export { billingContract, type Difference, type TenantBilling } from './contract.ts'
export { dayOf, invoiceTimeOf, Month, monthBefore, monthEnd, monthOf, monthsBetween, reportTimeOf } from './month.ts'
export { type OwnBilling, type OwnInvoice, ownBillingContract } from './own-contract.ts'
export { feeOf, payoutOf } from './payout.ts'
export { planAfter, planOf } from './plan.ts'
export { type Charge, type Preview, totalOf } from './preview.ts'
export type { Payout, UsageRow, UsageState } from './records.ts'
export { countModules, sharesOf } from './share.ts'
export { missingCents, plannedQuantity } from './usage.ts'
export { usageKinds, usageStates } from './usage-states.ts'
export { isCharged, maxSalesMonths, type Sale, type Sales, salesMonths, type VendorPayouts, vendorMoneyContract } from './vendor-money.ts'
