// When a tenant may be disturbed: which window holds, its own or its tier's, and how both are written on the wire and in settings.
// When windows open is worked out by the room beside it, wall-clock; this holds nothing and keeps no time.
export { type OwnWindow, type WindowRules, windowAt, windowInForce } from './in-force.ts'
export { BoxWindow, MaintenanceWindow, TenantWindow, TimeZone } from './window.ts'
