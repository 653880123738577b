/** One per tenant, module, period and type: a repeated insert is ignored. */
export type UsageEvent = Readonly<{
  tenantId: string
  moduleId: string
  eventType: 'active'
  quantity: 1
  billingPeriod: string
  createdAt: string
}>

/** The month of an ISO 8601 time in UTC: `2026-11`. */
const billingPeriodOf = (at: string): string => new Date(at).toISOString().slice(0, 7)

/** Recorded when a module is activated, and by the monthly job for each active module. */
export const usageEvent = (tenantId: string, moduleId: string, at: string): UsageEvent => ({
  ...{ tenantId, moduleId, eventType: 'active', quantity: 1 },
  billingPeriod: billingPeriodOf(at),
  createdAt: at,
})
