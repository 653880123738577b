// Without a catalogue: the page of schools loads these alone.

/** `Montag, 30. März 2026 um 02:00 (Europe/Berlin)`. */
export function timeText(format: string, iso: string, timeZone: string): string {
  const text = new Intl.DateTimeFormat(format, { timeZone, dateStyle: 'full', timeStyle: 'short' }).format(new Date(iso))
  return `${text} (${timeZone})`
}

/** `40 Sekunden`, `4 Minuten`: seconds up to a minute and a half. */
export function durationText(format: string, ms: number): string {
  const [value, unit] = ms <= 90_000 ? [Math.max(1, Math.round(ms / 1000)), 'second'] : [Math.ceil(ms / 60_000), 'minute']
  return new Intl.NumberFormat(format, { style: 'unit', unit, unitDisplay: 'long' }).format(value)
}
