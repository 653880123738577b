import { z } from 'zod'
import { assertValidMigrations, type BoxMigration, boxCommands, type Progress } from '../../core/boxes/index.ts'
import { fieldReasons } from '../../core/contract/index.ts'
import { type CommandOutcome, channelLimits } from '../../core/hosts/index.ts'
import { type Clock, isoNow, isProblem, type Problem, problem } from '../../core/kit/index.ts'
import type { CommandContext } from '../ports/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import type { ShelvedCommand } from './command-store.ts'
import type { AgentClient } from './connection.ts'
import { isEnding, retry } from './retry.ts'

type Deps = Pick<AgentDeps, 'clock' | 'random' | 'log' | 'executors'> & Readonly<{ client: AgentClient }>

/** The command as it is now: its lease may be renewed under another token while it runs. */
type Held = () => ShelvedCommand

export const progressOf = ({ clock, client }: Pick<Deps, 'clock' | 'client'>, held: Held): ProgressStream =>
  progressStream(clock, (progress) => {
    const { id, leaseToken } = held()
    return client.postProgress({ params: { id }, body: { leaseToken, progress } })
  })

/** Executes a command and answers what became of it; undefined when the signal broke it off: then it goes on at the next start. */
export async function runCommand(deps: Deps, held: Held, stream: ProgressStream, signal: AbortSignal): Promise<CommandOutcome | undefined> {
  try {
    return withinSize({ ok: true, result: await execute(deps, held(), contextOf(deps, held, stream, signal)) })
  } catch (error) {
    return signal.aborted ? undefined : failure(deps, held(), error)
  }
}

type AnyExecutor = (context: CommandContext, payload: unknown) => Promise<unknown>

async function execute({ executors }: Deps, { kind, payload }: ShelvedCommand, context: CommandContext): Promise<unknown> {
  if (!Object.hasOwn(boxCommands, kind))
    throw problem('PROTOCOL_VERSION', `this agent does not know the command ${kind}: upgrade tenantry-agent`)
  const known = kind as keyof typeof boxCommands
  const parsed = boxCommands[known].payload.safeParse(payload)
  if (!parsed.success) throw problem('VALIDATION', `the payload of ${kind} does not fit`, { details: fieldReasons(parsed.error) })
  return (executors[known] as AnyExecutor)(context, parsed.data)
}

function contextOf(deps: Deps, held: Held, stream: ProgressStream, signal: AbortSignal): CommandContext {
  const { client } = deps
  const { id } = held()
  const lease = () => ({ leaseToken: held().leaseToken })
  return {
    commandId: id,
    signal,
    progress: stream.tell,
    secrets: () => fetchPatiently(deps, signal, () => client.commandSecrets({ params: { id }, body: lease() }, { signal }).catch(lost)),
    migrations: () => fetchMigrations(deps, signal),
    deliver: async (outputs) => {
      const send = () => client.postOutputs({ params: { id }, body: { ...lease(), outputs } }, { signal }).catch(lost)
      await retry(deps, send, { signal, givesUp: isRefusal })
      signal.throwIfAborted()
    },
  }
}

/** A box may be fenced meanwhile, so a daemon that is away is not waited for longer than this. */
const secretsPatienceMs = 30_000

/** An agent that has just started may ask before the daemon has heard its hello, or while the daemon restarts too. */
async function fetchPatiently<Answer>(deps: Deps, signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer> {
  const startMs = deps.clock.monotonicMs()
  const late = () => deps.clock.monotonicMs() - startMs > secretsPatienceMs
  const answer = await retry(deps, ask, { signal, givesUp: (error) => late() || !mayPass(error) })
  if (!answer) throw signal.reason
  return answer
}

/** What arrives is run in databases: it is proven here, before anybody sees it. */
async function fetchMigrations(deps: Deps, signal: AbortSignal): Promise<readonly BoxMigration[]> {
  const { migrations } = await fetchPatiently(deps, signal, () => deps.client.boxMigrations({}, { signal }))
  assertValidMigrations(migrations)
  return migrations
}

const mayPass = (error: unknown) => isProblem(error) && (error.retryable || error.code === 'CONFLICT') && !isEnding(error)

const isRefusal = (error: unknown) => isEnding(error) || isProblem(error, 'LEASE_LOST') || isProblem(error, 'VALIDATION')

/** To an agent, a command that somebody else holds does not exist. */
function lost(error: unknown): never {
  throw isProblem(error, 'NOT_FOUND') ? problem('LEASE_LOST', error.message, { cause: error }) : error
}

const refused = (error: Problem): CommandOutcome => ({ ok: false, error: { code: error.code, message: error.message.slice(0, 4000) } })

/** What the host refuses has nothing to do with the command; a unit of systemd makes all read-only that it does not name. */
const refusalsOfTheHost: Readonly<Record<string, (said: string) => Problem>> = {
  ENOSPC: (said) => problem('DISK_FULL', `the disk of the host is full: ${said}`),
  EROFS: (said) =>
    problem('CONFIG', `the agent may not write there; where systemd runs it, ReadWritePaths= of its unit must name the folder: ${said}`),
}

function failure({ log }: Deps, { id, kind }: ShelvedCommand, error: unknown): CommandOutcome {
  if (isProblem(error)) return refused(error)
  const { code = '', message } = Object(error) as NodeJS.ErrnoException
  const ofTheHost = Object.hasOwn(refusalsOfTheHost, code) ? refusalsOfTheHost[code] : undefined
  if (ofTheHost) return refused(ofTheHost(message))
  log.error({ commandId: id, kind, err: error }, 'a command failed by a fault of the agent')
  return refused(problem('INTERNAL', `a fault of the agent: ${(error as Error).message}`))
}

/** Said here, where it can be mended, and not by a refusal that repeats for ever. */
function withinSize(outcome: CommandOutcome): CommandOutcome {
  const bytes = Buffer.byteLength(JSON.stringify(outcome))
  if (bytes <= channelLimits.resultBytes - 1024) return outcome
  return refused(problem('PAYLOAD_TOO_LARGE', `the command ended, but its result of ${bytes} bytes is too large to be told`))
}

type ProgressStream = Readonly<{
  tell(progress: Omit<Progress, 'at'>): void
  /** Sends what is left, once, and ends. */
  end(): Promise<void>
}>

const everyMs = 1000
const afterFailureMs = 5000

/**
 * Sends steps at most once a second; of what one step says meanwhile, the last word stands. Progress is told, never relied on:
 * while the daemon is away it waits, the oldest steps are dropped when there are too many, and no command fails for it.
 */
export function progressStream(clock: Clock, send: (progress: Progress[]) => Promise<unknown>): ProgressStream {
  let pending: Progress[] = []
  /** The step under way, and when it was first told: what one step says later must not move its beginning. */
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
    tell: (progress) => {
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

/** What changes of a box answer beside all else: how they ended, and why where it was not as asked. */
const Ending = z.object({ outcome: z.string(), error: z.object({ code: z.string(), message: z.string() }).nullish() })

/** An outcome as one line of the agent's log. A change that was undone is a command that went well: the line must tell it all the same. */
export function howItEnded(outcome: CommandOutcome): Readonly<Record<string, unknown>> {
  if (!outcome.ok) return { ok: false, ...saying(outcome.error) }
  const ending = Ending.safeParse(outcome.result)
  if (!ending.success) return { ok: true }
  return { ok: true, outcome: ending.data.outcome, ...(ending.data.error ? saying(ending.data.error) : {}) }
}

const saying = ({ code, message }: { code: string; message: string }) => ({ code, why: message.slice(0, 500) })
