import { type Check, passed, warning } from '../../node/command-line.ts'
import type { Config } from '../config/index.ts'

/** Without the secret of an endpoint its events are refused, and what they report is not noticed. */
const reports = {
  platform: 'failed payments and subscriptions that end',
  connect: 'changes of vendor accounts',
  thin: 'rejected usage',
} as const

/** Payments, where a provider is configured. Nothing is asked of it. */
export function payments({ stripe: { secretKey, webhookSecrets }, payments: { currency } }: Config): Check[] {
  if (!secretKey) return []
  const endpoints = Object.keys(reports) as (keyof typeof reports)[]
  const missing = endpoints.filter((one) => !webhookSecrets.some(({ endpoint }) => endpoint === one))
  if (missing.length > 0)
    return [
      warning(
        'payments',
        `no webhook secret of ${missing.join(' and ')}: ${missing.map((one) => reports[one]).join(' and ')} are not noticed`,
        'set TENANTRY_STRIPE_WEBHOOK_SECRETS (platform=whsec_…,connect=whsec_…,thin=whsec_…)',
      ),
    ]
  const mode = secretKey.reveal().includes('_test_') ? 'test' : 'live'
  return [passed('payments', `Stripe in ${mode} mode, ${currency.toUpperCase()}, with all webhook secrets`)]
}
