import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint, platform, sse, TimeInput, Timestamp, YesNo } from '../contract/index.ts'
import { StreamData } from './stream-type.ts'

/** A stored event for operators: type, ids and audience, without content. */
export const EventRecord = z.object({
  stream: z.string().meta({ description: '`tenant:<id>`, `rollout:<id>` or `admin`' }),
  seq: z.int().meta({ description: 'Its number in its stream: the order of commits, without gaps' }),
  tenant: Slug.nullable(),
  source: z.string(),
  type: z.string(),
  at: Timestamp,
  ids: z.record(z.string(), z.string()),
  box: z.string().optional().meta({ description: 'Events of rollouts only: the box that changed' }),
  step: z.string().optional().meta({ description: 'Events of rollouts only: the step that its agent reported' }),
  status: z.string().optional().meta({ description: 'Events of rollouts only: the status of that box, else of the rollout' }),
  audience: z.string().meta({ description: '`tenant`, `spaces`, `users`, `capability:<name>`, `roles`, several with +, or `none`' }),
})
export type EventRecord = z.infer<typeof EventRecord>

const stream = (path: string, summary: string) =>
  endpoint({
    method: 'GET',
    path,
    auth: platform(),
    // Not strict: an app may add what it likes to the URL, and an error would end its stream for good.
    query: z.object({ lastEventId: z.string().optional().meta({ description: 'The same as the header `Last-Event-ID`, which precedes' }) }),
    returns: sse(StreamData),
    problems: ['RATE_LIMITED'],
    summary,
    spec: '4.3',
  })

const TypeFilter = z.string().regex(/^[a-z0-9_.-]{1,120}\*?$/, 'must be a type such as space.created, or a prefix with a trailing *')

export const eventsContract = {
  eventStream: stream(
    '/api/platform/v1/events/stream',
    'Follow changes live (ids only); the header Last-Event-ID, or lastEventId in the query, continues after an event',
  ),
  workflowEventStream: stream('/api/platform/v1/workflow/events/stream', 'Former path of the event stream'),
  formerEventStream: stream('/platform/v1/workflow/events/stream', 'Former path of the event stream, for older clients'),
  tailEvents: endpoint({
    method: 'GET',
    path: '/api/admin/v1/events/stream',
    auth: admin('viewer'),
    query: z.strictObject({
      tenant: Slug.optional(),
      type: TypeFilter.optional(),
      last: z.coerce.number().int().min(0).max(500).default(0).meta({ description: 'Number of earlier events to send first' }),
      since: TimeInput.optional().meta({ description: 'Send events stored since then first' }),
      follow: YesNo.default(true).meta({ description: 'false: end after the earlier events' }),
    }),
    returns: sse(EventRecord),
    problems: ['NOT_FOUND'],
    summary: 'Follow all stored events, of one tenant or of one type',
  }),
} as const satisfies Contract
