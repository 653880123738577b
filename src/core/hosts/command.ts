import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { HostStatus } from './host.ts'

/** `rollout.box.attempt.step`, or a random id for a command of an operator. A retry has a new id. */
export const CommandId = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be the id of a command')

/**
 * `leased`: sent to the agent; `running`: confirmed by the agent; `succeeded`: it returned a result (a rolled back update is one); `failed`: it
 * returned an error; `expired`: the daemon stopped waiting, and the outcome of a leased command is unknown until a late result.
 */
export const CommandStatus = z.enum(['queued', 'leased', 'running', 'succeeded', 'failed', 'expired'])
export type CommandStatus = z.infer<typeof CommandStatus>

export const isFinal = (status: CommandStatus): boolean => status === 'succeeded' || status === 'failed' || status === 'expired'

export const CommandError = z.object({ code: z.string().max(60), message: z.string().max(4000) })
export type CommandError = z.infer<typeof CommandError>

const StoredProgress = z.object({
  step: z.string(),
  detail: z.string().optional(),
  percent: z.number().optional(),
  at: z.string(),
  /** First report of the step. */
  since: z.string().optional(),
})

/** A command as shown to operators. `revision` increases with each change; pass it as `seen` to wait for the next. */
export const CommandView = z.object({
  id: z.string(),
  hostId: z.string(),
  hostName: z.string(),
  hostStatus: HostStatus,
  boxId: z.string(),
  kind: z.string(),
  status: CommandStatus,
  revision: z.number().int(),
  progress: z.array(StoredProgress),
  result: z.unknown(),
  error: CommandError.nullable(),
  createdAt: Timestamp,
  deadlineAt: Timestamp,
  startedAt: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
})
export type CommandView = z.infer<typeof CommandView>

/** The first report of a step. */
export type FirstReport = Readonly<{ step: string; at: string }>

type ReportedStep = Readonly<{ step: string; at: string; since?: string | undefined }>

/** Limits the storage that untrusted agents can use. */
const maxSteps = 60

/** Adds reported steps to the list; the first time of each step is kept, because `progress` has only the newest entries. */
export function addSteps(known: readonly FirstReport[], reported: readonly ReportedStep[]): FirstReport[] {
  const names = new Set(known.map(({ step }) => step))
  const added: FirstReport[] = []
  for (const { step, at, since } of reported) {
    const first = parsedTime(since) ?? parsedTime(at)
    if (names.has(step) || first === undefined) continue
    names.add(step)
    added.push({ step, at: first })
  }
  return [...known, ...added].slice(0, maxSteps)
}

/** Agents are untrusted: anything but a valid time is undefined. */
function parsedTime(text: string | undefined): string | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
