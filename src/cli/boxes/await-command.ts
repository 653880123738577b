import { stepWord } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { type Clock, isProblem, isProblemCode, problem } from '../../core/kit/index.ts'
import { type Context, clean } from '../kit/index.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal'>

/** Long-poll timeout of one call. */
const waitMs = 20_000
/** Retry time for a daemon that restarts. */
const retryMs = 60_000

const finalStatuses: readonly CommandView['status'][] = ['succeeded', 'failed', 'expired']

/**
 * Waits until the agent has finished a command; reports each step, and an offline host. Throws the command's own error, or
 * COMMAND_EXPIRED.
 */
export async function awaitCommand(
  deps: Deps & Readonly<{ onOffline?: (command: CommandView) => void }>,
  id: string,
  report: (line: string) => void,
): Promise<CommandView> {
  const { onOffline = ({ hostName, hostStatus }) => report(`${hostName} is ${hostStatus}: waiting until it reconnects`) } = deps
  let seen: number | undefined
  let status: CommandView['hostStatus'] | undefined
  for (;;) {
    const query = seen === undefined ? { waitMs: 0 } : { waitMs, seen }
    const command = await retryWhileUnavailable(deps, () => deps.api.hosts.showCommand({ params: { id }, query }, { signal: deps.signal }))
    if (finalStatuses.includes(command.status)) return finished(command)
    if (command.revision !== seen) report(stepOf(command))
    if (command.hostStatus !== status && isOffline(command)) onOffline(command)
    seen = command.revision
    status = command.hostStatus
  }
}

const isOffline = ({ hostStatus }: CommandView) => hostStatus !== 'online'

/** As `awaitCommand`, for read-only commands: throws HOST_OFFLINE when the host goes offline. */
export const awaitAnswer = (
  deps: Deps,
  { id, slug }: Readonly<{ id: string; slug: string }>,
  report: (line: string) => void = () => undefined,
): Promise<CommandView> =>
  awaitCommand({ ...deps, onOffline: ({ hostName, hostStatus }) => throwOffline(slug, hostName, hostStatus) }, id, report)

function throwOffline(slug: string, host: string, status: CommandView['hostStatus']): never {
  throw problem('HOST_OFFLINE', `host ${host} of ${slug} is ${status}. fix: start its agent; details: \`tenantry hosts show ${host}\``)
}

/** Retries a call while the daemon is briefly unavailable. */
async function retryWhileUnavailable<Result>({ clock, signal }: Deps, call: () => Promise<Result>): Promise<Result> {
  const start = clock.monotonicMs()
  for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, 4000)) {
    try {
      return await call()
    } catch (error) {
      if (!isProblem(error) || !error.retryable || clock.monotonicMs() - start + pauseMs > retryMs) throw error
      await pause(clock, pauseMs, signal)
    }
  }
}

const pause = async (clock: Clock, ms: number, signal: AbortSignal) => {
  await clock.sleep(ms, signal)
  signal.throwIfAborted()
}

const counted = /\d of \d/

function stepOf({ status, progress, hostName }: CommandView): string {
  const last = progress.at(-1)
  if (!last) return status === 'queued' ? `waiting for the agent of ${hostName}` : `running on ${hostName}`
  // `2 of 3 good` is a progress already.
  const share = last.percent === undefined || counted.test(last.detail ?? '') ? undefined : `${Math.round(last.percent)} %`
  return clean([stepWord(last.step) || last.step, last.detail, share].filter(Boolean).join(': '))
}

function finished(command: CommandView): CommandView {
  if (command.status === 'succeeded') return command
  const { code, message } = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the agent did not finish in time' }
  if (command.status === 'expired')
    throw problem('COMMAND_EXPIRED', `${message} (${command.kind} on ${command.hostName}). Host: tenantry hosts show ${command.hostName}`)
  throw problem(isProblemCode(code) ? code : 'INTERNAL', `${clean(message)} (${command.kind} on ${command.hostName})`)
}

/** Waits for one command with progress on stderr. Throws the command's own error. */
export async function awaitWithProgress(context: Context, commandId: string, what: string): Promise<CommandView> {
  const progress = await context.progress(what)
  try {
    return await awaitCommand(context, commandId, (line) => progress.update(`${what}: ${line}`))
  } finally {
    progress.stop()
  }
}

type Stage = Readonly<{ state: string; commandId: string | null }>

/**
 * Follows a procedure of several commands, each of which the daemon enqueues when the one before has ended, until no command is pending or the
 * outcome of the last one is unknown.
 */
export async function followCommands<One extends Stage>(
  context: Context,
  slug: string,
  { begun, again }: Readonly<{ begun: One; again: () => Promise<One> }>,
): Promise<One> {
  let now = begun
  const progress = await context.progress(`${slug}: ${stateText(now.state)}`)
  try {
    while (now.commandId !== null) {
      const { commandId } = now
      const report = (line: string) => progress.update(`${slug}: ${line}`)
      await awaitCommand(context, commandId, report).catch((error: unknown) => {
        if (!isProblem(error)) throw error
        report(clean(error.message))
      })
      now = await again()
      if (now.commandId === commandId) return now
      report(stateText(now.state))
    }
    return now
  } finally {
    progress.stop()
  }
}

/** `handing_over` on the wire, `handing over` for people. */
export const stateText = (state: string): string => state.replaceAll('_', ' ')
