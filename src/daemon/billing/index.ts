// Billing: active users of months, usage of items and modules, statements of developers, announcements, plans and the comparison with the provider.
// Decides by core/billing. A month is counted once and reported with its count, so that repetition never adds.
// It changes nothing at the provider to remove a difference: it names it.
import './billing.tables.ts'
import { billingContract, ownBillingContract } from '../../core/billing/index.ts'
import { defineCron, feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { billingAddressTopic } from '../tenants/index.ts'
import { deleteOldUsers } from './active-users.ts'
import { beginSteps, stepHandlers } from './cron-steps.ts'
import { createPaymentCustomer, sendBillingAddress, showTenantBilling } from './customers.ts'
import { deleteOldStatements } from './delete-old-statements.ts'
import type { BillingDeps } from './deps.ts'
import { invoiceMailTopic, mailInvoiceFailed, mailPaymentFailed, paymentMailTopic } from './hooks.ts'
import { listPayouts, listUsage } from './list-billing.ts'
import { listOwnInvoices, openPaymentPage, showOwnBilling } from './own-billing.ts'
import { setDeveloperVendor } from './pay-developers.ts'
import { previewBilling } from './preview.ts'
import { reconcilePage } from './reconcile.ts'
import { reportEnded, reportTopic } from './report-usage.ts'
import { waiveUsage } from './waive-usage.ts'
import { mailWarning, warningTopic } from './warn-tenants.ts'

export { eraseActiveUser, openActiveUsers } from './active-users.ts'
export type { BillingDeps } from './deps.ts'
export { endPayments } from './end-payments.ts'
export { billingHooks } from './hooks.ts'

type Deps = BillingDeps & Pick<Parameters<typeof createPaymentCustomer>[0], 'changeTenant'>

export const billingFeature = feature<Deps>({
  name: 'billing',
  routes: (deps) => [
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
    ...serveContract(ownBillingContract, {
      showOwnBilling: ({ actor }) => showOwnBilling(deps, actor),
      listOwnInvoices: ({ actor, query }) => listOwnInvoices(deps, actor, query),
      openPaymentPage: ({ actor, body }) => openPaymentPage(deps, actor, body),
    }),
  ],
  jobs: (deps) => ({
    [reportTopic]: reportEnded(deps),
    ...stepHandlers(deps),
    [warningTopic]: mailWarning(deps),
    [paymentMailTopic]: mailPaymentFailed(deps),
    [invoiceMailTopic]: mailInvoiceFailed(deps),
    [billingAddressTopic]: sendBillingAddress(deps),
  }),
  crons: (deps) => [
    defineCron({
      ...{ key: 'marketplace-monthly-billing', expression: '30 6 1 * *', description: 'Report active users of the last month' },
      isAlerted: true,
      run: (context) => beginSteps(deps, 'marketplace-monthly-billing', context),
    }),
    defineCron({
      ...{ key: 'billing-usage-aggregation', expression: '0 2 1 * *', description: 'Bill paid modules of the last month' },
      isAlerted: true,
      run: (context) => beginSteps(deps, 'billing-usage-aggregation', context),
    }),
    defineCron({
      ...{ key: 'billing-developer-payouts', expression: '0 4 3 * *', description: 'Make statements of developers and transfer them' },
      isAlerted: true,
      run: (context) => beginSteps(deps, 'billing-developer-payouts', context),
    }),
    defineCron({
      ...{ key: 'billing-period-end-warning', expression: '0 9 24 * *', description: 'Mail to tenants what they will be charged' },
      isAlerted: true,
      run: (context) => beginSteps(deps, 'billing-period-end-warning', context),
    }),
    defineCron({
      ...{ key: 'billing-reconcile', expression: '30 5 * * *', description: 'List differences from the payment provider' },
      isAlerted: true,
      run: (context) => beginSteps(deps, 'billing-reconcile', context),
    }),
  ],
  loops: ({ activeUsers }) => [activeUsers.loop],
  cleanup: (deps) => [(signal) => deleteOldUsers(deps, signal), (signal) => deleteOldStatements(deps, signal)],
})
