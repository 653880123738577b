import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { TimeZone } from './time-zone.ts'
import { MaintenanceWindow, type TenantWindow } from './window.ts'

/** What holds for tenants that say nothing themselves: a zone, and per tier a window, or null for any time. */
export type WindowRules = Readonly<{
  timeZone: string
  windows: Readonly<Record<'free' | 'pro' | 'enterprise', MaintenanceWindow | null>>
}>

/** What a tenant says itself; null leaves it to its tier. */
export type OwnWindow = Readonly<{ timeZone: string | null; maintenanceWindow: TenantWindow | null }>

/** `own` is false when it is the tier's. */
export type WindowInForce = Readonly<{ window: MaintenanceWindow; timeZone: string; own: boolean }>

/** The window that holds for a tenant; null where any time is right. A zone of its own also moves its tier's window. */
export function windowInForce(rules: WindowRules, tier: keyof WindowRules['windows'], tenant: OwnWindow): WindowInForce | null {
  if (tenant.maintenanceWindow === 'any') return null
  const window = tenant.maintenanceWindow ?? rules.windows[tier]
  return window && { window, timeZone: tenant.timeZone ?? rules.timeZone, own: tenant.maintenanceWindow !== null }
}

/** A window as answers show it, with the opening at the moment or the next one. */
export const BoxWindow = z.object({
  window: MaintenanceWindow,
  timeZone: TimeZone,
  /** False when it is the default of the tenant's tier. */
  own: z.boolean(),
  /** In the past while it is open. */
  opensAt: Timestamp,
  closesAt: Timestamp,
})
export type BoxWindow = z.infer<typeof BoxWindow>
