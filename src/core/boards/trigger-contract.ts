import { z } from 'zod'
import { type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { base, manage, one } from './contract.ts'

const Occurrence = z.object({
  triggerId: z.string(),
  kind: z.enum(['event', 'chat', 'cron']),
  outcome: z.enum(['started', 'missed', 'failed', 'loop', 'skipped']).meta({
    description:
      '`missed`: a time without a daemon, or a message that was read an hour late; `loop`: runs started each other, too many in a row or in an hour; `skipped`: a message while a run is unfinished, or within the cooldown',
  }),
  runId: z.string().nullable(),
  reason: z.string().nullable().meta({ description: 'Why no run started' }),
  at: Timestamp,
})
export type TriggerOccurrence = Readonly<z.infer<typeof Occurrence>>

export const triggersContract = {
  listTriggerOccurrences: endpoint({
    method: 'GET',
    path: `${base}/:id/occurrences`,
    auth: manage,
    params: one,
    query: Paging,
    returns: z.object({ occurrences: z.array(Occurrence), nextCursor: z.string().nullable() }),
    summary: 'List what the triggers of a board saw in the last 30 days, newest first',
    spec: '2.12',
  }),
} as const satisfies Contract
