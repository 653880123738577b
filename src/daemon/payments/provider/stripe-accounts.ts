import type Stripe from 'stripe'
import type { PaymentProvider } from '../../../core/payments/index.ts'
import { asFailure, orNull } from './stripe-failures.ts'
import { idOrNull, isoOf, toAccount, toCustomer } from './stripe-records.ts'

type AccountCalls = Pick<
  PaymentProvider,
  | 'createAccount'
  | 'getAccount'
  | 'createAccountLink'
  | 'createCustomer'
  | 'getCustomer'
  | 'updateCustomer'
  | 'createSetupLink'
  | 'applySetup'
>

/** Accounts of vendors and customers. */
export const stripeAccounts = (stripe: Stripe, { currency }: Readonly<{ currency: string }>): AccountCalls => ({
  createAccount: ({ key, name, email, country, metadata }) =>
    asFailure(async () =>
      toAccount(
        await stripe.accounts.create(
          {
            country,
            email,
            business_profile: { name },
            // An express account: the platform pays fees and carries losses, the provider collects requirements.
            controller: {
              fees: { payer: 'application' },
              losses: { payments: 'application' },
              stripe_dashboard: { type: 'express' },
              requirement_collection: 'stripe',
            },
            capabilities: { card_payments: { requested: true }, transfers: { requested: true } },
            metadata,
          },
          { idempotencyKey: key },
        ),
      ),
    ),
  getAccount: (id) => orNull(async () => toAccount(await stripe.accounts.retrieve(id))),
  createAccountLink: ({ accountId, returnUrl, refreshUrl }) =>
    asFailure(async () => {
      const link = { account: accountId, return_url: returnUrl, refresh_url: refreshUrl, type: 'account_onboarding' } as const
      const { url, expires_at } = await stripe.accountLinks.create(link)
      return { url, expiresAt: isoOf(expires_at) }
    }),
  createCustomer: ({ key, name, email, metadata }) =>
    asFailure(async () => toCustomer(await stripe.customers.create({ name, email, metadata }, { idempotencyKey: key }))),
  getCustomer: (id) =>
    orNull(async () => {
      const customer = await stripe.customers.retrieve(id)
      return 'deleted' in customer && customer.deleted ? null : toCustomer(customer as Stripe.Customer)
    }),
  updateCustomer: ({ key, id, email, metadata }) =>
    asFailure(async () => {
      const change = { ...(email === undefined ? {} : { email: email ?? '' }), ...(metadata ? { metadata } : {}) }
      return toCustomer(await stripe.customers.update(id, change, { idempotencyKey: key }))
    }),
  createSetupLink: ({ customerId, returnUrl }) =>
    asFailure(async () => {
      const session = await stripe.checkout.sessions.create({
        mode: 'setup',
        customer: customerId,
        currency,
        success_url: returnUrl,
        cancel_url: returnUrl,
        metadata: { svc_kind: 'setup' },
      })
      return { url: session.url ?? '', expiresAt: isoOf(session.expires_at) }
    }),
  applySetup: (id) =>
    orNull(async () => {
      const { metadata, status, customer, setup_intent: setup } = await stripe.checkout.sessions.retrieve(id, { expand: ['setup_intent'] })
      const customerId = idOrNull(customer)
      if (metadata?.svc_kind !== 'setup' || status !== 'complete' || customerId === null) return null
      const method = typeof setup === 'object' ? idOrNull(setup?.payment_method) : null
      const [newest] = (await stripe.customers.listPaymentMethods(customerId, { limit: 1 })).data
      if (newest && newest.id === method)
        await stripe.customers.update(customerId, { invoice_settings: { default_payment_method: method } })
      return customerId
    }),
})
