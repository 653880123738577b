import type { NewAlert } from './alert.ts'
import { spoken } from './rollout-texts.ts'

// Alerts about budgets of requests.

/** Its users feel it already: from 80 % on every request is held for a moment. */
export const budgetHigh = (of: Readonly<{ slug: string; percent: number; budget: number; since: string }>): NewAlert => ({
  kind: 'budget_high',
  key: `budget_high:${of.slug}`,
  subject: of.slug,
  severity: 'warning',
  title: `${of.slug} uses ${of.percent} % of its requests`,
  body:
    `Since ${spoken(of.since)} the users of ${of.slug} together make more than 80 % of the ${of.budget} requests a minute that its plan allows.\n` +
    'Above 80 % each request is held for up to two seconds, at the whole budget it is refused. Other organisations are not touched by it. ' +
    'A client that asks in a loop may be the cause; if not, the organisation has outgrown its plan.',
  command: `tenantry tenants show ${of.slug}`,
  standing: true,
})
