import { formatStreamMessage } from '../contract/index.ts'
import { idsOf, streamTypeOf } from './event-types.ts'
import type { ResetReason, StreamData } from './stream-type.ts'

type Stored = Readonly<{ seq: number; eventType: string; payload: unknown; createdAt: string }>

/** The message that tells clients of a stored event, as it goes over the wire; undefined when they are told nothing. */
export function messageOf({ seq, eventType, payload, createdAt }: Stored): string | undefined {
  const type = streamTypeOf(eventType)
  if (type === undefined) return undefined
  const data: StreamData = { type, at: createdAt, ids: idsOf(eventType, payload) }
  return formatStreamMessage({ id: String(seq), event: type, data })
}

/** Tells that events may have been missed, and that the stream goes on after `seq`. */
export function resetMessage(seq: number, at: string, reason: ResetReason): string {
  const data: StreamData = { type: 'reset', at, ids: {}, reason }
  return formatStreamMessage({ id: String(seq), event: 'reset', data })
}

/** A comment that keeps the connection open and, as it has an id but no data, moves the client's position without an event. */
export const positionMessage = (seq: number): string => `: \nid: ${seq}\n\n`
