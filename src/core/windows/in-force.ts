import { asTimes, windowCalendar } from '../wall-clock/index.ts'
import type { BoxWindow, MaintenanceWindow, TenantWindow } from './window.ts'

/** Defaults for tenants without their own settings: time zone, and window per tier (null: any time). */
export type WindowRules = Readonly<{
  timeZone: string
  windows: Readonly<Record<'free' | 'pro' | 'enterprise', MaintenanceWindow | null>>
}>

/** A tenant's own settings; null uses those of its tier. */
export type OwnWindow = Readonly<{ timeZone: string | null; maintenanceWindow: TenantWindow | null }>

/** `own` is false when it is the tier's. */
export type WindowInForce = Readonly<{ window: MaintenanceWindow; timeZone: string; own: boolean }>

/** The window that holds for a tenant; null where any time is right. A zone of its own also moves its tier's window. */
export function windowInForce(rules: WindowRules, tier: keyof WindowRules['windows'], tenant: OwnWindow): WindowInForce | null {
  if (tenant.maintenanceWindow === 'any') return null
  const window = tenant.maintenanceWindow ?? rules.windows[tier]
  return window && { window, timeZone: tenant.timeZone ?? rules.timeZone, own: tenant.maintenanceWindow !== null }
}

/** As answers show it at that moment. */
export function windowAt(inForce: WindowInForce, nowIso: string): BoxWindow {
  const nowMs = Date.parse(nowIso)
  return { ...inForce, ...asTimes(windowCalendar(inForce, nowMs).at(nowMs)) }
}
