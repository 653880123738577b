// When a tenant may be disturbed: maintenance windows by the wall clock of a time zone, and the openings that follow from them.
// A window is open whenever a clock in its zone shows a time that lies in it: what such a clock skips does not open, what it shows twice
// opens twice. It holds nothing and keeps no time: whoever plans or starts work asks it.
export { BoxWindow, type OwnWindow, type WindowInForce, type WindowRules, windowInForce } from './in-force.ts'
export { type Opening, openings } from './openings.ts'
export { TimeZone } from './time-zone.ts'
export { MaintenanceWindow, parseWindow, TenantWindow, windowText } from './window.ts'
export { asTimes, type WindowCalendar, windowAt, windowCalendar } from './window-calendar.ts'
export { momentText } from './words.ts'
