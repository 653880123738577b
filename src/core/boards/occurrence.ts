type Occurred =
  | Readonly<{ kind: 'event'; triggerId: string; seq: number }>
  | Readonly<{ kind: 'chat'; eventId: string }>
  | Readonly<{ kind: 'cron'; triggerId: string; at: Date }>

/**
 * The key of what a trigger saw: a board starts at most one run for each. Two chat triggers that fit one message have the same key, so it
 * starts one run.
 */
export function occurrenceKey(one: Occurred): string {
  if (one.kind === 'chat') return `chat:${one.eventId}`
  return one.kind === 'event' ? `event:${one.seq}:${one.triggerId}` : `cron:${one.at.toISOString()}:${one.triggerId}`
}
