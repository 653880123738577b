import type { CommandView } from '../../core/hosts/index.ts'
import { type Clock, isProblem, isProblemCode, problem } from '../../core/kit/index.ts'
import { type Context, clean } from '../kit/index.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal'>

/** How long one call waits at the daemon for a change. */
const waitMs = 20_000
/** A daemon that restarts is waited for this long. */
const patienceMs = 60_000

const finalStatuses: readonly CommandView['status'][] = ['succeeded', 'failed', 'expired']

/**
 * Waits until the agent has finished a command, telling each step on the way, and that its host is away. Throws the command's own error, or
 * COMMAND_EXPIRED.
 */
export async function awaitCommand(
  deps: Deps,
  id: string,
  tell: (line: string) => void,
  away = ({ hostName, hostStatus }: CommandView) => tell(`${hostName} is ${hostStatus}: waiting until it is heard again`),
): Promise<CommandView> {
  let seen: number | undefined
  let status: CommandView['hostStatus'] | undefined
  for (;;) {
    const query = seen === undefined ? { waitMs: 0 } : { waitMs, seen }
    const command = await retryWhileUnavailable(deps, () => deps.api.hosts.showCommand({ params: { id }, query }, { signal: deps.signal }))
    if (finalStatuses.includes(command.status)) return finished(command)
    if (command.revision !== seen) tell(stepOf(command))
    if (command.hostStatus !== status && isAway(command)) away(command)
    seen = command.revision
    status = command.hostStatus
  }
}

/** An older daemon does not say how the host is. */
const isAway = ({ hostStatus }: CommandView) => hostStatus !== undefined && hostStatus !== 'online'

/** As `awaitCommand`, for what only asks: of a host that went away meanwhile no answer is waited for. Throws HOST_OFFLINE. */
export const awaitAnswer = (deps: Deps, id: string, slug: string, tell: (line: string) => void = () => undefined): Promise<CommandView> =>
  awaitCommand(deps, id, tell, ({ hostName, hostStatus }) => {
    throw problem('HOST_OFFLINE', `the host ${hostName} of ${slug} is ${hostStatus}: see \`tenantry hosts show ${hostName}\``)
  })

/** Repeats what fails because the daemon is away for a moment. */
async function retryWhileUnavailable<Result>({ clock, signal }: Deps, call: () => Promise<Result>): Promise<Result> {
  const start = clock.monotonicMs()
  for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, 4000)) {
    try {
      return await call()
    } catch (error) {
      if (!isProblem(error) || !error.retryable || clock.monotonicMs() - start + pauseMs > patienceMs) throw error
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
  if (!last) return status === 'queued' ? `waiting for the agent of ${hostName}` : `${hostName} has begun`
  // `2 of 3 good` says how far it is already.
  const share = last.percent === undefined || counted.test(last.detail ?? '') ? undefined : `${Math.round(last.percent)} %`
  return clean([last.step, last.detail, share].filter(Boolean).join(': '))
}

function finished(command: CommandView): CommandView {
  if (command.status === 'succeeded') return command
  const { code, message } = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the daemon gave up waiting for the agent' }
  if (command.status === 'expired')
    throw problem('COMMAND_EXPIRED', `${message} (${command.kind} on ${command.hostName}): see tenantry hosts show ${command.hostName}`)
  throw problem(isProblemCode(code) ? code : 'INTERNAL', `${clean(message)} (${command.kind} on ${command.hostName})`)
}

/** Waits for one command with its steps on stderr. Throws the command's own error. */
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
 * Follows what goes from command to command, each of which the daemon gives when the one before has ended, until none is waited for any more
 * or nothing more is heard of the last one.
 */
export async function followCommands<One extends Stage>(
  context: Context,
  slug: string,
  begun: One,
  again: () => Promise<One>,
): Promise<One> {
  let now = begun
  const progress = await context.progress(`${slug}: ${stateText(now.state)}`)
  try {
    while (now.commandId !== null) {
      const { commandId } = now
      const tell = (line: string) => progress.update(`${slug}: ${line}`)
      await awaitCommand(context, commandId, tell).catch((error: unknown) => {
        if (!isProblem(error)) throw error
        tell(clean(error.message))
      })
      now = await again()
      if (now.commandId === commandId) return now
      tell(stateText(now.state))
    }
    return now
  } finally {
    progress.stop()
  }
}

/** `handing_over` on the wire, `handing over` for people. */
export const stateText = (state: string): string => state.replaceAll('_', ' ')
