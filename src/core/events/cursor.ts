/** Where a client wants to go on: after an event, or nowhere in particular. What it sends is not ours to trust. */
export type Cursor = Readonly<{ kind: 'none' } | { kind: 'after'; seq: number } | { kind: 'unknown' }>

/** Reads `Last-Event-ID`. What is no id at all is answered like an id of another stream, not with an error: clients send it by themselves, for ever. */
export function readCursor(lastEventId: string | undefined): Cursor {
  if (lastEventId === undefined || lastEventId === '') return { kind: 'none' }
  return /^(0|[1-9][0-9]{0,14})$/.test(lastEventId) ? { kind: 'after', seq: Number(lastEventId) } : { kind: 'unknown' }
}
