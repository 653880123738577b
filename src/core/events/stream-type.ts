import { z } from 'zod'
import { formatStreamMessage, Timestamp } from '../contract/index.ts'
import { idsOf, StreamType, streamTypeOf } from './event-types.ts'

/** Why a stream cannot continue after the client's last event: later events were deleted, or the id is not of this stream. */
export const ResetReason = z.enum(['too_old', 'unknown'])
export type ResetReason = z.infer<typeof ResetReason>

const StreamEvent = z
  .object({
    type: StreamType,
    at: Timestamp,
    ids: z.record(z.string(), z.string()).meta({ description: 'Ids of the changed objects, such as `spaceId`; never content' }),
  })
  .meta({ description: 'Something changed' })

const StreamReset = z
  .object({ type: z.literal('reset'), at: Timestamp, ids: z.object({}), reason: ResetReason })
  .meta({ description: 'Events may have been missed: read everything again; the stream continues from here' })

const StreamPosition = z
  .object({ type: z.literal('position'), at: Timestamp, ids: z.object({}) })
  .meta({ description: 'Nothing happened: the id of the message is the position of the client. Ignore it' })

/** The data of one message. `reset` and `position` are about the stream itself and not event types. */
export const StreamData = z.discriminatedUnion('type', [StreamEvent, StreamReset, StreamPosition])
export type StreamData = z.infer<typeof StreamData>

/** Where a client continues: after an event, or at the newest. The value comes from the client and is not trusted. */
type Cursor = Readonly<{ kind: 'none' } | { kind: 'after'; seq: number } | { kind: 'unknown' }>

/** Reads the id that a client sent. An invalid id is treated like an id of another stream: clients resend it for ever, so an error would never end. */
export function readCursor(lastEventId: string | undefined): Cursor {
  if (lastEventId === undefined || lastEventId === '') return { kind: 'none' }
  return /^(0|[1-9][0-9]{0,14})$/.test(lastEventId) ? { kind: 'after', seq: Number(lastEventId) } : { kind: 'unknown' }
}

type Stored = Readonly<{ seq: number; eventType: string; payload: unknown; createdAt: string }>

/** The stream message of a stored event; undefined for internal events. */
export function messageOf({ seq, eventType, payload, createdAt }: Stored): string | undefined {
  const type = streamTypeOf(eventType)
  if (type === undefined) return undefined
  const data: StreamData = { type, at: createdAt, ids: idsOf(eventType, payload) }
  return formatStreamMessage({ id: String(seq), event: type, data })
}

/** Reports that events may have been missed; the stream continues after `seq`. */
export function resetMessage(seq: number, at: string, reason: ResetReason): string {
  const data: StreamData = { type: 'reset', at, ids: {}, reason }
  return formatStreamMessage({ id: String(seq), event: 'reset', data })
}

/** Keeps the connection open and moves the client's position without an event. It has data, because many parsers drop an id without data. */
export function positionMessage(seq: number, at: string): string {
  const data: StreamData = { type: 'position', at, ids: {} }
  return formatStreamMessage({ id: String(seq), event: 'position', data })
}
