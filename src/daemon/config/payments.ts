import { z } from 'zod'
import { isLoopback, secret } from '../../core/kit/index.ts'
import { Currency } from '../../core/payments/index.ts'

// Settings of the payment provider.

const SecretKey = z
  .string()
  .regex(/^(sk|rk)_(test|live)_[A-Za-z0-9]{3,255}$/, 'must be a secret or restricted key: sk_live_…, sk_test_…, rk_live_… or rk_test_…')
  .transform(secret)

const endpoints = ['platform', 'connect', 'thin'] as const
const entryPattern = /^(platform|connect|thin)=(whsec_[A-Za-z0-9+/=_-]{8,255})$/

/** Names what is wrong: the form, or the part after whsec_, which is often cut when it is copied. */
function assertEntry(entry: string, context: z.RefinementCtx): void {
  if (entryPattern.test(entry)) return
  const [, , value] = /^(platform|connect|thin)=whsec_(.*)$/.exec(entry) ?? []
  const message =
    value === undefined
      ? `must be <endpoint>=whsec_…, with an endpoint of ${endpoints.join(', ')}`
      : value.length < 8 || value.length > 255
        ? `must have 8 to 255 characters after whsec_, not ${value.length}`
        : 'must have only letters, digits and "+/=_-" after whsec_'
  context.addIssue({ code: 'custom', message })
}

/** `platform=whsec_…,connect=whsec_…,thin=whsec_…`; an endpoint may have two while its secret is rotated. */
const WebhookSecrets = z
  .union([
    z.array(z.string()),
    z.string().transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    ),
  ])
  .pipe(z.array(z.string().superRefine(assertEntry)))
  .transform((entries) =>
    entries.map((entry) => {
      const [, endpoint, value] = entryPattern.exec(entry) as unknown as [string, (typeof endpoints)[number], string]
      return { endpoint, secret: secret(value) }
    }),
  )

/** Encrypted unless it is this machine. */
const ApiAddress = z.url({ protocol: /^https?$/ }).refine((text) => {
  const url = new URL(text)
  return url.protocol === 'https:' || isLoopback(url)
}, 'must begin with https:, unless it is on loopback')

/** Access to Stripe. Without `secretKey` there is no payment provider. */
export const Stripe = z.strictObject({
  secretKey: SecretKey.optional(),
  webhookSecrets: WebhookSecrets.default([]),
  /** Another address of the API: a proxy, or a mock for tests. */
  api: ApiAddress.optional(),
})

export const Payments = z.strictObject({
  /** Currency of every price; it cannot change once a price exists. */
  currency: Currency.default('eur'),
  /** `charge`: at once, by the customer's means of payment. `invoice`: by mail, due in 14 days. */
  collection: z.enum(['charge', 'invoice']).default('charge'),
  /** Lets the provider add taxes to invoices. */
  automaticTax: z.union([z.boolean(), z.stringbool()]).default(false),
  /** True: the monthly payouts to developers are transferred; false: they are only listed. */
  transferPayouts: z.union([z.boolean(), z.stringbool()]).default(false),
})
