// Local time: time zones, daylight saving changes, and the openings of maintenance windows.
// A window is open whenever a clock in its zone shows a time that lies in it: what such a clock skips does not open, what it shows twice
// opens twice. Nothing here knows whose window it is, or what time it is now.
export { localText } from './local-text.ts'
export { momentText } from './moment-text.ts'
export { openings } from './openings.ts'
export { isTimeZone, momentsOf, offsetMs } from './time-zone.ts'
export { asTimes, isEndless, type WindowCalendar, windowCalendar, type ZonedWindow } from './window-calendar.ts'
export { days, isTimeOfDay, parseWindow, type WindowPart, windowText } from './window-text.ts'
