import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** `waiting`: for its run time or its next attempt. `away`: its server does not answer. `dead`: abandoned after its last attempt. */
export const JobState = z.enum(['waiting', 'away', 'dead'])
export type JobState = z.infer<typeof JobState>

/** A job that is not done, such as a lock to be set in a chat server. */
export const Job = z.object({
  id: z.number(),
  topic: z.string(),
  state: JobState,
  tenant: z.string().nullable(),
  /** Ids of what the job works on; nothing else of its payload. */
  about: z.record(z.string(), z.string()),
  /** Jobs of one queue run one after the other. */
  queue: z.string(),
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: Timestamp,
  /** Null for a dead job: it runs only when an operator retries it. */
  nextAt: Timestamp.nullable(),
})
export type Job = z.infer<typeof Job>

/** How many jobs of one topic are in one state. */
export const JobCount = z.object({ topic: z.string(), state: JobState, count: z.number(), oldestAt: Timestamp })
export type JobCount = z.infer<typeof JobCount>

const shownFields = ['tenantId', 'userId', 'spaceId', 'runId', 'alertId', 'deliveryId', 'eventId', 'chain', 'kind']

/** The ids in a payload. Other fields are never shown: a payload may carry secrets. */
export const subjectOf = (payload: string): Record<string, string> => {
  const fields = parseObject(payload)
  return Object.fromEntries(shownFields.flatMap((name) => (isPlain(fields[name]) ? [[name, String(fields[name]).slice(0, 100)]] : [])))
}

const isPlain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
