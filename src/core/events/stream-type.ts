import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** What a client may be told of; it then reads what changed, by the rules of that reading. */
export const StreamType = z.enum([
  'space.changed',
  'contacts.changed',
  'membership.changed',
  'profile.changed',
  'task.created',
  'task.updated',
  'task.escalated',
  'file.changed',
  'module.changed',
  'flag.changed',
  'marketplace.changed',
  'subscription.changed',
  'board.changed',
  'run.updated',
  'checkpoint.created',
  'checkpoint.resolved',
  'sla.warning',
  'crisis.updated',
  'message.notice',
])
export type StreamType = z.infer<typeof StreamType>

/** Why a stream cannot go on where the client left it: what came since is forgotten, or the id is none of this stream. */
export const ResetReason = z.enum(['too_old', 'unknown'])
export type ResetReason = z.infer<typeof ResetReason>

const StreamEvent = z
  .object({
    type: StreamType,
    at: Timestamp,
    ids: z.record(z.string(), z.string()).meta({ description: 'Of what changed, such as `spaceId`; never content' }),
  })
  .meta({ description: 'Something changed' })

const StreamReset = z
  .object({ type: z.literal('reset'), at: Timestamp, ids: z.object({}), reason: ResetReason })
  .meta({ description: 'Events may have been missed: read everything anew; the stream goes on from here' })

/** The data of one message. `reset` is none of the event types: it tells of the stream itself. */
export const StreamData = z.discriminatedUnion('type', [StreamEvent, StreamReset])
export type StreamData = z.infer<typeof StreamData>
