/** `2026-11-27 09:00 (Europe/Berlin)`: a moment in a text for the people of a tenant. */
export const localText = (iso: string, timeZone: string): string =>
  `${new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(iso))} (${timeZone})`
