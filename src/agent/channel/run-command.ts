import { z } from 'zod'
import { assertValidMigrations, type BoxMigration, boxCommands, type Progress } from '../../core/boxes/index.ts'
import { fieldReasons } from '../../core/contract/index.ts'
import { type CommandOutcome, channelLimits } from '../../core/hosts/index.ts'
import { type Clock, isoNow, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import { outsideTrace } from '../../node/index.ts'
import type { CommandContext } from '../ports/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import type { StoredCommand } from './command-store.ts'
import type { AgentClient } from './connection.types.ts'
import type { LineSender } from './line-sender.ts'
import { isFatal, retry } from './retry.ts'

type Deps = Pick<AgentDeps, 'clock' | 'random' | 'log' | 'executors'> & Readonly<{ client: AgentClient; lines: LineSender }>

/** Returns the current command; its lease token may change while it runs. */
type Held = () => StoredCommand

export const progressOf = ({ clock, client }: Pick<Deps, 'clock' | 'client'>, held: Held): ProgressStream =>
  progressStream(clock, (progress) => {
    const { id, leaseToken } = held()
    // A span for each would hide the others.
    return outsideTrace(() => client.postProgress({ params: { id }, body: { leaseToken, progress } }))
  })

/** Executes a command and returns its outcome; undefined when aborted, and then it resumes at the next start. */
export async function runCommand(
  deps: Deps,
  { held, stream }: Readonly<{ held: Held; stream: ProgressStream }>,
  signal: AbortSignal,
): Promise<CommandOutcome | undefined> {
  try {
    return withinSize({ ok: true, result: await execute(deps, held(), contextOf(deps, { held, stream }, signal)) })
  } catch (error) {
    return signal.aborted ? undefined : failure(deps, held(), error)
  }
}

type AnyExecutor = (context: CommandContext, payload: unknown) => Promise<unknown>

async function execute({ executors }: Deps, { kind, payload }: StoredCommand, context: CommandContext): Promise<unknown> {
  if (!Object.hasOwn(boxCommands, kind))
    throw problem('PROTOCOL_VERSION', `This agent does not support the command ${kind}. fix: upgrade tenantry-agent`)
  const known = kind as keyof typeof boxCommands
  const parsed = boxCommands[known].payload.safeParse(payload)
  if (!parsed.success) throw problem('VALIDATION', `The payload of ${kind} is invalid`, { details: fieldReasons(parsed.error) })
  return (executors[known] as AnyExecutor)(context, parsed.data)
}

function contextOf(deps: Deps, { held, stream }: Readonly<{ held: Held; stream: ProgressStream }>, signal: AbortSignal): CommandContext {
  const { client } = deps
  const { id } = held()
  const lease = () => ({ leaseToken: held().leaseToken })
  return {
    commandId: id,
    signal,
    progress: stream.report,
    secrets: () => fetchWithRetry(deps, signal, () => client.commandSecrets({ params: { id }, body: lease() }, { signal }).catch(lost)),
    migrations: () => fetchMigrations(deps, signal),
    sendLines: (batch) => deps.lines.send({ commandId: id, ...lease(), ...batch }, signal),
    deliver: async (outputs) => {
      const send = () => client.postOutputs({ params: { id }, body: { ...lease(), outputs } }, { signal }).catch(lost)
      await retry(deps, send, { signal, isFinal: isRefusal })
      signal.throwIfAborted()
    },
  }
}

/** Upper bound, because the box may be fenced while the agent waits. */
const maxSecretsWaitMs = 30_000

/** Retries, because the agent may ask before its hello has arrived, or while the daemon restarts. */
async function fetchWithRetry<Answer>(deps: Deps, signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer> {
  const startMs = deps.clock.monotonicMs()
  const late = () => deps.clock.monotonicMs() - startMs > maxSecretsWaitMs
  const answer = await retry(deps, ask, { signal, isFinal: (error) => late() || !mayPass(error) })
  if (!answer) throw signal.reason
  return answer
}

/** Verifies migrations before use, because they run in databases. */
async function fetchMigrations(deps: Deps, signal: AbortSignal): Promise<readonly BoxMigration[]> {
  const { migrations } = await fetchWithRetry(deps, signal, () => deps.client.boxMigrations({}, { signal }))
  assertValidMigrations(migrations)
  return migrations
}

const mayPass = (error: unknown) => isProblem(error) && (error.retryable || error.code === 'CONFLICT') && !isFatal(error)

const isRefusal = (error: unknown) => isFatal(error) || isProblem(error, 'LEASE_LOST') || isProblem(error, 'VALIDATION')

/** The daemon answers NOT_FOUND for a command leased to another agent. */
function lost(error: unknown): never {
  throw isProblem(error, 'NOT_FOUND') ? problem('LEASE_LOST', error.message, { cause: error }) : error
}

const refused = (error: Problem): CommandOutcome => ({ ok: false, error: { code: error.code, message: error.message.slice(0, 4000) } })

/** System errors of the host. Under systemd, folders outside ReadWritePaths= are read-only. */
const refusalsOfTheHost: Readonly<Record<string, (said: string) => Problem>> = {
  ENOSPC: (said) => problem('DISK_FULL', `The host's disk is full: ${said}`),
  EROFS: (said) => problem('CONFIG', `The agent cannot write: ${said}. fix: add the folder to ReadWritePaths= of its systemd unit`),
}

function failure({ log }: Deps, { id, kind }: StoredCommand, error: unknown): CommandOutcome {
  if (isProblem(error)) return refused(error)
  const { code = '', message } = Object(error) as NodeJS.ErrnoException
  const ofTheHost = Object.hasOwn(refusalsOfTheHost, code) ? refusalsOfTheHost[code] : undefined
  if (ofTheHost) return refused(ofTheHost(message))
  log.error({ commandId: id, kind, err: error }, 'command failed: internal error')
  return refused(problem('INTERNAL', `Internal error of the agent: ${(error as Error).message}`))
}

/** Rejects an oversized result here, because the daemon would refuse it on every retry. */
function withinSize(outcome: CommandOutcome): CommandOutcome {
  const bytes = Buffer.byteLength(JSON.stringify(outcome))
  if (bytes <= channelLimits.resultBytes - 1024) return outcome
  return refused(problem('PAYLOAD_TOO_LARGE', `The command finished, but its result of ${bytes} bytes is too large to report`))
}

type ProgressStream = Readonly<{
  report(progress: Omit<Progress, 'at'>): void
  /** Sends pending steps once and stops. */
  end(): Promise<void>
}>

const everyMs = 1000
const afterFailureMs = 5000

/**
 * Sends progress at most once a second; within a step only the latest update is sent. Best effort: while the daemon is unreachable, steps
 * are buffered and the oldest ones dropped.
 */
export function progressStream(clock: Clock, send: (progress: Progress[]) => Promise<unknown>): ProgressStream {
  let pending: Progress[] = []
  /** The current step and when it started. */
  let current: Readonly<{ step: string; since: string }> | undefined
  let pump: Promise<void> | undefined
  const ended = new AbortController()

  const flush = async (): Promise<boolean> => {
    const batch = pending
    pending = []
    if (batch.length === 0) return true
    return send(batch).then(
      () => true,
      () => {
        pending = [...batch, ...pending].slice(-channelLimits.progressPerCall)
        return false
      },
    )
  }
  const run = async () => {
    while (pending.length > 0 && !ended.signal.aborted) await clock.sleep((await flush()) ? everyMs : afterFailureMs, ended.signal)
    pump = undefined
  }
  return {
    report: (progress) => {
      const at = isoNow(clock)
      if (current?.step !== progress.step) current = { step: progress.step, since: at }
      const since = current.since === at ? {} : { since: current.since }
      const said = { ...progress, ...(progress.detail ? { detail: progress.detail.slice(0, 500) } : {}), at, ...since }
      const kept = pending.at(-1)?.step === said.step ? pending.slice(0, -1) : pending
      pending = [...kept, said].slice(-channelLimits.progressPerCall)
      pump ??= run()
    },
    end: async () => {
      ended.abort()
      await pump
      await flush()
    },
  }
}

/** Common part of the results of box changes. */
const Ending = z.object({ outcome: z.string(), error: z.object({ code: z.string(), message: z.string() }).nullish() })

/** Log fields of an outcome. A rolled-back change is a successful command, so the fields include the inner outcome. */
export function outcomeSummary(outcome: CommandOutcome): Readonly<Record<string, unknown>> {
  if (!outcome.ok) return { ok: false, ...saying(outcome.error) }
  const ending = Ending.safeParse(outcome.result)
  if (!ending.success) return { ok: true }
  return { ok: true, outcome: ending.data.outcome, ...(ending.data.error ? saying(ending.data.error) : {}) }
}

const saying = ({ code, message }: { code: string; message: string }) => ({ code, why: message.slice(0, 500) })
