// Payments: the payment provider, accounts of vendors, prices, paid installations and their end; and in `billing/` active users of months, usage,
// statements of developers, announcements, plans and the comparison with the provider. Decides by core/payments and core/billing.
// A tenant is never charged twice: every call has a stored key or searches for its object first, and a month is reported with its count.
// It changes nothing at the provider to remove a difference: it names it.
import './billing/billing.tables.ts'
import './payments.tables.ts'
import { billingContract, ownBillingContract, vendorMoneyContract } from '../../core/billing/index.ts'
import { paymentsContract, webhooksContract } from '../../core/payments/index.ts'
import { defineCron, feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { vendorIdsOf } from '../marketplace/index.ts'
import { billingAddressTopic } from '../tenants/index.ts'
import { applyEvent, eventTopic } from './apply-event.ts'
import { deleteOldUsers } from './billing/active-users.ts'
import { beginSteps, stepHandlers } from './billing/cron-steps.ts'
import { createPaymentCustomer, sendBillingAddress, showTenantBilling } from './billing/customers.ts'
import { deleteOldStatements } from './billing/delete-old-statements.ts'
import type { BillingDeps } from './billing/deps.ts'
import { invoiceMailTopic, mailInvoiceFailed, mailPaymentFailed, paymentMailTopic } from './billing/failure-mails.ts'
import { listPayouts, listUsage } from './billing/list-billing.ts'
import { listOwnInvoices, openPaymentPage, showOwnBilling } from './billing/own-billing.ts'
import { setDeveloperVendor } from './billing/pay-developers.ts'
import { previewBilling } from './billing/preview.ts'
import { reconcilePage } from './billing/reconcile.ts'
import { reportEnded, reportTopic } from './billing/report-usage.ts'
import { assertOwnVendor, existingVendorId, payoutsOf, salesOf } from './billing/vendor-money.ts'
import { waiveUsage } from './billing/waive-usage.ts'
import { mailWarning, warningTopic } from './billing/warn-tenants.ts'
import { cancellationTopic, endsTopic, followCancellation, followEnds, withdrawalTopic } from './cancellation.ts'
import type { PaymentsDeps } from './deps.ts'
import { deleteOldEvents, listEvents, receiveEvent, replayEvent, showEvent } from './events.ts'
import { continueInstall, installTopic } from './install-paid.ts'
import { priceTopic, rotatePrice } from './prices.ts'
import { returnPage } from './return-page.ts'
import { changeSubscriptionTerms, changeTerms, subscriptionTermsTopic, termsTopic } from './terms.ts'
import { createAccount, onboardVendor, syncVendor, vendorTopic } from './vendors.ts'

export { paymentFailed } from './alerts.ts'
export { eraseActiveUser, openActiveUsers } from './billing/active-users.ts'
export type { BillingDeps } from './billing/deps.ts'
export { endPayments } from './billing/end-payments.ts'
export { assertCurrency } from './currency.ts'
export type { PaymentsDeps } from './deps.ts'
export { paymentsOfMarketplace } from './marketplace-payments.ts'
export { noProvider } from './provider/no-provider.ts'
export { openPaymentProvider } from './provider/open-provider.ts'
export { eventVerifier } from './provider/verify-event.ts'
export { syncAccount } from './vendors.ts'

type Deps = PaymentsDeps & BillingDeps & Pick<Parameters<typeof createPaymentCustomer>[0], 'changeTenant'>

const billingCrons = [
  { key: 'marketplace-monthly-billing', expression: '30 6 1 * *', description: 'Report active users of the last month' },
  { key: 'billing-usage-aggregation', expression: '0 2 1 * *', description: 'Bill paid modules of the last month' },
  { key: 'billing-developer-payouts', expression: '0 4 3 * *', description: 'Make statements of developers and transfer them' },
  { key: 'billing-period-end-warning', expression: '0 9 24 * *', description: 'Mail to tenants what they will be charged' },
  { key: 'billing-reconcile', expression: '30 5 * * *', description: 'List differences from the payment provider' },
] as const

export const paymentsFeature = feature<Deps>({
  name: 'payments',
  routes: (deps) => [
    ...serveContract(paymentsContract, {
      onboardVendor: ({ actor, params }) => onboardVendor(deps, actor, params),
      syncVendor: ({ actor, params }) => syncVendor(deps, actor, params),
      showReturnPage: async ({ query }) => returnPage(query),
    }),
    ...serveContract(webhooksContract, {
      receivePaymentEvent: ({ raw, header }) => receiveEvent(deps, { raw, signature: header('stripe-signature') ?? '' }),
      listPaymentEvents: ({ query }) => listEvents(deps, query),
      showPaymentEvent: ({ params }) => showEvent(deps, params),
      replayPaymentEvent: ({ actor, params }) => replayEvent(deps, actor, params),
    }),
    ...serveContract(billingContract, {
      previewBilling: ({ query }) => previewBilling(deps, query),
      listUsage: async ({ query }) => ({ ...(await listUsage(deps, query)), hasProvider: deps.provider.name !== 'none' }),
      waiveUsage: ({ actor, body }) => waiveUsage(deps, actor, body),
      listPayouts: ({ query }) => listPayouts(deps, query),
      setDeveloperVendor: ({ actor, params, body }) => setDeveloperVendor(deps, actor, { ...params, ...body }),
      reconcileBilling: ({ query }) => reconcilePage(deps, query),
      showTenantBilling: ({ params }) => showTenantBilling(deps, params),
      createPaymentCustomer: ({ actor, params, body }) => createPaymentCustomer(deps, actor, { ...params, ...body }),
    }),
    ...serveContract(vendorMoneyContract, {
      listVendorSales: async ({ actor, query }) => salesOf(deps, { ...query, vendorIds: await vendorIdsOf(deps.db, actor) }),
      listVendorPayouts: async ({ actor }) => payoutsOf(deps, await vendorIdsOf(deps.db, actor)),
      openVendorOnboarding: async ({ actor, params }) => {
        await assertOwnVendor(deps, actor, params)
        return onboardVendor(deps, actor, params)
      },
      showVendorSales: async ({ params, query }) => salesOf(deps, { ...query, vendorIds: [await existingVendorId(deps, params)] }),
      showVendorPayouts: async ({ params }) => payoutsOf(deps, [await existingVendorId(deps, params)]),
    }),
    ...serveContract(ownBillingContract, {
      showOwnBilling: ({ actor }) => showOwnBilling(deps, actor),
      listOwnInvoices: ({ actor, query }) => listOwnInvoices(deps, actor, query),
      openPaymentPage: ({ actor, body }) => openPaymentPage(deps, actor, body),
    }),
  ],
  jobs: (deps) => ({
    [installTopic]: continueInstall(deps),
    [priceTopic]: rotatePrice(deps),
    [termsTopic]: changeTerms(deps),
    [subscriptionTermsTopic]: changeSubscriptionTerms(deps),
    [cancellationTopic]: followCancellation(deps, cancellationTopic),
    [withdrawalTopic]: followCancellation(deps, withdrawalTopic),
    [endsTopic]: followEnds(deps),
    [vendorTopic]: createAccount(deps),
    [eventTopic]: applyEvent(deps),
    [reportTopic]: reportEnded(deps),
    ...stepHandlers(deps),
    [warningTopic]: mailWarning(deps),
    [paymentMailTopic]: mailPaymentFailed(deps),
    [invoiceMailTopic]: mailInvoiceFailed(deps),
    [billingAddressTopic]: sendBillingAddress(deps),
  }),
  crons: (deps) =>
    billingCrons.map((cron) => defineCron({ ...cron, isAlerted: true, run: (context) => beginSteps(deps, cron.key, context) })),
  loops: ({ activeUsers }) => [activeUsers.loop],
  cleanup: (deps) => [
    (signal) => deleteOldEvents(deps, signal),
    (signal) => deleteOldUsers(deps, signal),
    (signal) => deleteOldStatements(deps, signal),
  ],
})
