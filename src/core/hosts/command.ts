import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { HostStatus } from './host.ts'

/** `rollout.box.attempt.step`, or a random id for what an operator asked for. A retry is a new attempt with a new id. */
export const CommandId = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must be the id of a command')

/**
 * `leased` = offered to the agent; `running` = the agent said that it works on it; `succeeded` = it answered what its kind promises (an update
 * that was rolled back is such an answer); `failed` = it answered an error; `expired` = the daemon gave up waiting, and unless nobody ever took
 * the command, what happened on the host is not known until a late result tells.
 */
export const CommandStatus = z.enum(['queued', 'leased', 'running', 'succeeded', 'failed', 'expired'])
export type CommandStatus = z.infer<typeof CommandStatus>

export const isFinal = (status: CommandStatus): boolean => status === 'succeeded' || status === 'failed' || status === 'expired'

export const CommandError = z.object({ code: z.string().max(60), message: z.string().max(4000) })
export type CommandError = z.infer<typeof CommandError>

/** One step that a command told of, as the daemon stored it. */
const StoredProgress = z.object({
  step: z.string(),
  detail: z.string().optional(),
  percent: z.number().optional(),
  at: z.string(),
  /** When the step was told of first. */
  since: z.string().optional(),
})

/** A command as operators see it. `revision` rises with each change; give it back as `seen` to wait for the next. */
export const CommandView = z.object({
  id: z.string(),
  hostId: z.string(),
  hostName: z.string(),
  /** Nobody hears of a command that waits for a host which is not online. */
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
