// Without a catalogue: the page of schools loads these alone.

/** `Montag, 30. März 2026 um 02:00–05:00 (Europe/Berlin)`; `to` null: a moment. Two days are written out both. */
export function timeText(
  format: string,
  { from, to = null, timeZone }: Readonly<{ from: string; to?: string | null; timeZone: string }>,
): string {
  const times = new Intl.DateTimeFormat(format, { timeZone, dateStyle: 'full', timeStyle: 'short' })
  const text = to === null ? times.format(new Date(from)) : times.formatRange(new Date(from), new Date(to))
  return `${text} (${timeZone})`
}

/** `40 Sekunden`, `4 Minuten`: seconds up to a minute and a half. */
export function durationText(format: string, ms: number): string {
  const [value, unit] = ms <= 90_000 ? [Math.max(1, Math.round(ms / 1000)), 'second'] : [Math.ceil(ms / 60_000), 'minute']
  return new Intl.NumberFormat(format, { style: 'unit', unit, unitDisplay: 'long' }).format(value)
}
