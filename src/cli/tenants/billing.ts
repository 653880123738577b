import type { TenantBilling } from '../../core/billing/index.ts'
import { problem } from '../../core/kit/index.ts'
import { clean, command, fields, flag, type Style, sections, stamp, text } from '../kit/index.ts'

type Shown = TenantBilling & Readonly<{ setupUrl?: string; expiresAt?: string }>

const view = ({ tenant, paymentCustomerId, billingEmail, plan, setupUrl, expiresAt }: Shown, style: Style): string =>
  sections(
    fields(style, [
      ['tenant', tenant],
      ['payment customer', paymentCustomerId ? clean(paymentCustomerId) : 'none'],
      ['billing address', billingEmail ? clean(billingEmail) : 'none'],
      ['plan', plan ? `${plan.plan ?? 'unknown'}, ${clean(plan.status)} (${clean(plan.subscriptionId)})` : 'no subscription'],
      ['period ends', plan ? stamp(plan.currentPeriodEnd, style.now) : undefined],
    ]),
    setupUrl && expiresAt
      ? `${setupUrl}\nThe tenant stores its means of payment there. The link works once and expires ${stamp(expiresAt, style.now)}.`
      : '',
  )

export const billing = command('billing <slug>', 'Show the payment customer of a tenant, or create it', {
  options: {
    createCustomer: flag('--create-customer', 'create the customer, and a link to store a means of payment'),
    email: text('--email <address>', 'with --create-customer: address for bills'),
  },
  run: ({ api }, { slug, createCustomer, email }): Promise<Shown> => {
    if (!createCustomer && email !== undefined)
      throw problem('USAGE', `--email goes with --create-customer; to change it: tenantry tenants update ${slug} --billing-email <address>`)
    return createCustomer
      ? api.billing.createPaymentCustomer({ params: { slug }, body: { billingEmail: email } })
      : api.billing.showTenantBilling({ params: { slug } })
  },
  view,
  examples: ['billing anna-schule', 'billing anna-schule --create-customer --email office@anna.example'],
})
