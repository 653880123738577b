// Payments: the port to the payment provider, its records in plain types, and the rules of accounts, prices and paid installs.
// Money is integer cents with a currency. It decides nothing about items or invoices of the platform and calls nothing.
export { type AccountState, accountStateOf, assertVendorIsPayable } from './account.ts'
export { paymentsContract, returnPath } from './contract.ts'
export { Currency } from './currency.ts'
export { isPaymentFailure, type PaymentFailure, paymentFailure } from './failure.ts'
export {
  type InstallStep,
  installDeadlineMs,
  installKey,
  installSaga,
  isOfAttempt,
  liveSubscriptionOf,
  metadataOf,
  usageAnchor,
  usageMeterOf,
} from './install.ts'
export { type Money, moneyText, sumsOf } from './money.ts'
export type { PaymentProvider } from './port.ts'
export type {
  ListedInvoice,
  ProviderAccount,
  ProviderCustomer,
  ProviderDispute,
  ProviderEvent,
  ProviderInvoice,
  ProviderInvoiceItem,
  ProviderMeter,
  ProviderPrice,
  ProviderProduct,
  ProviderRefund,
  ProviderSubscription,
  ProviderTransfer,
  WebhookEndpoint,
} from './records.ts'
export { daysUntilDue, isLive } from './records.ts'
export { objectToRead, PaymentEvent, type PaymentEventState, paymentStatusOf } from './webhook.ts'
export { maxEventBytes, webhooksContract } from './webhooks-contract.ts'
