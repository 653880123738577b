import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** `waiting`: for its turn or its next try. `away`: for its server, which did not answer. `dead`: it was given up, and waits for a person. */
export const FollowupState = z.enum(['waiting', 'away', 'dead'])
export type FollowupState = z.infer<typeof FollowupState>

/** A piece of follow-up work: what is to be done after a change, such as a lock in a chat server. */
export const Followup = z.object({
  id: z.number(),
  topic: z.string(),
  state: FollowupState,
  tenant: z.string().nullable(),
  /** Whom or what it is about: ids only. */
  about: z.record(z.string(), z.string()),
  /** What waits in one queue is done one after the other. */
  queue: z.string(),
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: Timestamp,
  /** Null: never, unless a person has it tried again. */
  nextAt: Timestamp.nullable(),
})
export type Followup = z.infer<typeof Followup>

/** All work of one kind in one state. */
export const FollowupCount = z.object({ topic: z.string(), state: FollowupState, count: z.number(), oldestAt: Timestamp })
export type FollowupCount = z.infer<typeof FollowupCount>

const named = ['tenantId', 'userId', 'spaceId', 'alertId', 'deliveryId', 'chain', 'kind']

/** What of a payload is shown: names of things. Whatever else a topic may carry one day is not for eyes. */
export const aboutOf = (payload: string): Record<string, string> => {
  const given = parsed(payload)
  return Object.fromEntries(named.flatMap((name) => (isPlain(given[name]) ? [[name, String(given[name]).slice(0, 100)]] : [])))
}

const isPlain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
