/**
 * Time as a capability. `now` is the wall clock, for records; `monotonicMs` never decreases, for durations and deadlines;
 * `sleep` resolves after `ms` or as soon as the signal aborts (it never rejects: check the signal).
 */
export type Clock = Readonly<{
  now(): Date
  monotonicMs(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}>

/** ISO 8601 UTC, the form of every timestamp on the wire and in the database. */
export const isoNow = (clock: Clock): string => clock.now().toISOString()

export const isoIn = (clock: Clock, ms: number): string => new Date(clock.now().getTime() + ms).toISOString()

export const elapsedMs = (fromIso: string, toIso: string): number => Date.parse(toIso) - Date.parse(fromIso)

/** How long something took by two readings of a wall clock, which may have been set back meanwhile: never less than nothing. */
export const spanMs = (fromIso: string, toIso: string): number => Math.max(0, elapsedMs(fromIso, toIso))
