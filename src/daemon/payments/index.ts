// Payments: the payment provider, accounts of vendors, prices, paid installations and their end.
// Decides by core/payments. A tenant is never charged twice: every call has a stored key or searches for its object first.
import './payments.tables.ts'
import { paymentsContract, webhooksContract } from '../../core/payments/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { applyEvent, eventTopic } from './apply-event.ts'
import { cancellationTopic, followCancellation } from './cancellation.ts'
import type { PaymentsDeps } from './deps.ts'
import { deleteOldEvents, listEvents, receiveEvent, replayEvent, showEvent } from './events.ts'
import { continueInstall, installTopic } from './install-paid.ts'
import { priceTopic, rotatePrice } from './prices.ts'
import { returnPage } from './return-page.ts'
import { changeSubscriptionTerms, changeTerms, subscriptionTermsTopic, termsTopic } from './terms.ts'
import { createAccount, onboardVendor, syncVendor, vendorTopic } from './vendors.ts'

export { paymentFailed, paymentFailedKey } from './alerts.ts'
export { isLinked } from './attempts.repo.ts'
export { assertCurrency } from './currency.ts'
export type { BillingHooks, PaymentsDeps } from './deps.ts'
export { paymentsOfMarketplace } from './marketplace-payments.ts'
export { noProvider } from './no-provider.ts'
export { openPaymentProvider } from './open-provider.ts'
export { createOnce } from './prices.ts'
export { orProblem } from './problems.ts'
export { returnUrlsOf } from './return-page.ts'
export { payoutOf as payoutOfItem } from './terms.ts'
export { syncAccount } from './vendors.ts'
export { eventVerifier } from './verify-event.ts'

export const paymentsFeature = feature<PaymentsDeps>({
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
  ],
  jobs: (deps) => ({
    [installTopic]: continueInstall(deps),
    [priceTopic]: rotatePrice(deps),
    [termsTopic]: changeTerms(deps),
    [subscriptionTermsTopic]: changeSubscriptionTerms(deps),
    [cancellationTopic]: followCancellation(deps),
    [vendorTopic]: createAccount(deps),
    [eventTopic]: applyEvent(deps),
  }),
  cleanup: (deps) => [(signal) => deleteOldEvents(deps, signal)],
})
