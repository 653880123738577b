import pLimit from 'p-limit'
import { type HostBefore, planAgentUpgrade, upgradeLack } from '../../core/hosts/index.ts'
import { duration, isProblem, plural } from '../../core/kit/index.ts'
import { listBoxesOf } from '../boxes/index.ts'
import {
  assertConfirmed,
  type Context,
  clean,
  command,
  count,
  flag,
  many,
  period,
  required,
  type Style,
  sections,
  table,
  text,
} from '../kit/index.ts'
import { shownHost } from './commands.ts'

type State = 'upgraded' | 'up_to_date' | 'failed' | 'left_out' | 'not_started'
type Outcome = Readonly<{ host: string; state: State; ms: number | null; why: string | null }>
type Upgrade = Readonly<{ version: string; hosts: readonly Outcome[] }>

const pollMs = 5_000
/** For a host that was proven and is looked at again. */
const doubtMs = 60_000
const [defaultPauseMs, defaultTimeoutMs] = [5 * 60_000, 15 * 60_000]

export const upgrade = command('upgrade', 'Upgrade the agents of hosts: one first, then the others, each proven by its boxes', {
  options: {
    to: required(text('--to <version>', 'version of the new agents, as `tenantry-agent --version` prints it')),
    run: text('--run <command>', 'command that installs it on the host $HOST, run on this machine (default: you do, host by host)'),
    host: many('--host <names>', 'only these hosts, comma-separated'),
    canary: text('--canary <host>', 'the first host (default: the one with the fewest boxes)'),
    pause: period('--pause <time>', 'watch the first host for this long before the others (default 5m)'),
    parallel: count('--parallel <number>', 'hosts at once after the first (default 1)'),
    timeout: period('--timeout <time>', 'for one host, until its boxes are proven (default 15m)'),
    plan: flag('--plan', 'show the order and what is left out; change nothing'),
  },
  run: async (context, { to: version, host, canary, plan: isPlan, ...how }): Promise<Upgrade> => {
    const { hosts: all } = await context.api.hosts.listHosts()
    const plan = planAgentUpgrade(all, { version, hosts: host, canary })
    const rest = [
      ...plan.upToDate.map((name) => outcome(name, 'up_to_date')),
      ...plan.leftOut.map(({ host: name, why }) => ({ ...outcome(name, 'left_out'), why })),
    ]
    const [first, ...others] = plan.hosts
    if (isPlan || first === undefined) return { version, hosts: [...plan.hosts.map((name) => outcome(name, 'not_started')), ...rest] }
    const order = others.length === 0 ? clean(first) : `${clean(first)} first, then ${plural(others.length, 'host')}`
    await assertConfirmed(context.ask, `Upgrade agents to ${clean(version)} on ${order}? Chats keep running; commands wait.`)
    return { version, hosts: [...(await upgradeAll(context, { first, others }, { version, ...how })), ...rest] }
  },
  view: upgradeView,
  exit: ({ hosts }, { plan }) => (!plan && hosts.some(({ state }) => state === 'failed') ? 1 : 0),
  examples: ['upgrade --to 0.2.1 --plan', `upgrade --to 0.2.1 --parallel 4 --run './install-agent "$HOST"'`],
})

const outcome = (host: string, state: State): Outcome => ({ host, state, ms: null, why: null })

type How = Readonly<{
  version: string
  run: string | undefined
  pause: number | undefined
  parallel: number | undefined
  timeout: number | undefined
}>

/** Starts no further host after one that failed. */
async function upgradeAll(
  context: Context,
  { first, others }: Readonly<{ first: string; others: readonly string[] }>,
  how: How,
): Promise<Outcome[]> {
  const canary = await attempted(context, first, { ...how, watchMs: others.length > 0 ? (how.pause ?? defaultPauseMs) : 0 })
  let isStopped = canary.state === 'failed'
  const ended = await pLimit(how.parallel ?? 1).map(others, async (host) => {
    if (isStopped) return outcome(host, 'not_started')
    const one = await attempted(context, host, { ...how, watchMs: 0 })
    isStopped ||= one.state === 'failed'
    return one
  })
  return [canary, ...ended]
}

type HowOne = How & Readonly<{ watchMs: number }>

/** An answer of the daemon that ends one host must not hide what became of the others. */
async function attempted(context: Context, name: string, how: HowOne): Promise<Outcome> {
  return upgradeOne(context, name, how).catch((error: unknown) => {
    if (!isProblem(error)) throw error
    return { ...outcome(name, 'failed'), why: error.message }
  })
}

async function upgradeOne(context: Context, name: string, { version, run, watchMs, timeout = defaultTimeoutMs }: HowOne): Promise<Outcome> {
  const { clock, signal } = context
  const notify = (line: string) => context.notify(`${clean(name)}: ${clean(line)}`)
  const startMs = clock.monotonicMs()
  const ended = (why: string | undefined): Outcome => {
    const ms = clock.monotonicMs() - startMs
    return why === undefined ? { host: name, state: 'upgraded', ms, why: null } : { host: name, state: 'failed', ms, why }
  }
  const before = await stateOf(context, name)
  if (run === undefined) notify(`install ${version} there now and restart its agent; this command waits for it`)
  const failure = run && (await runForHost(run, name, { onLine: notify, signal }))
  if (failure) return ended(failure)
  const proof = { name, version, before, notify }
  const lack = await untilProven(context, proof, timeout)
  if (lack !== undefined || watchMs === 0) return ended(lack)
  notify(`upgraded; watched for ${duration(watchMs)} before the others`)
  await clock.sleep(watchMs, signal)
  return ended(await untilProven(context, proof, doubtMs))
}

type Running = Readonly<{ onLine: (line: string) => void; signal: AbortSignal }>

/** Runs the operator's own command by the shell of this machine, with the host's name as HOST. Returns why it failed, undefined after exit code 0. */
async function runForHost(line: string, host: string, { onLine, signal }: Running): Promise<string | undefined> {
  const { execa } = await import('execa')
  const child = execa('sh', ['-c', line], {
    env: { HOST: host },
    stdin: 'ignore',
    all: true,
    reject: false,
    cancelSignal: signal,
    buffer: false,
  })
  for await (const printed of child.iterable({ from: 'all' })) onLine(String(printed))
  const { failed, exitCode, signal: killedBy } = await child
  signal.throwIfAborted()
  if (!failed) return undefined
  return exitCode === undefined ? `its command was ended by ${killedBy ?? 'an error'}` : `its command ended with exit code ${exitCode}`
}

async function stateOf(context: Context, name: string): Promise<HostBefore> {
  const [{ resourcesAt }, boxes] = await Promise.all([shownHost(context, name), listBoxesOf(context, name)])
  return { resourcesAt, running: boxes.filter(({ health }) => health?.state === 'running').map(({ slug }) => slug) }
}

type Proof = Readonly<{ name: string; version: string; before: HostBefore; notify: (line: string) => void }>

/** Returns what is still lacking after the time. */
async function untilProven(context: Context, proof: Proof, timeoutMs: number): Promise<string | undefined> {
  const { clock, signal } = context
  const startMs = clock.monotonicMs()
  for (let reported: string | undefined; ; ) {
    signal.throwIfAborted()
    const lack = await lackOf(context, proof)
    if (lack === undefined || clock.monotonicMs() - startMs >= timeoutMs) return lack
    if (lack !== reported) proof.notify(lack)
    reported = lack
    await clock.sleep(pollMs, signal)
  }
}

/** A daemon that restarts meanwhile is asked again. */
async function lackOf(context: Context, { name, version, before }: Proof): Promise<string | undefined> {
  try {
    const [host, boxes] = await Promise.all([shownHost(context, name), listBoxesOf(context, name)])
    return upgradeLack({ host, boxes }, before, version)
  } catch (error) {
    if (isProblem(error) && error.retryable) return `the daemon does not answer (${error.code})`
    throw error
  }
}

const words: Record<State, string> = {
  upgraded: 'upgraded',
  up_to_date: 'up to date',
  failed: 'failed',
  left_out: 'left out',
  not_started: 'not started',
}
const tint = { upgraded: 'green', up_to_date: 'dim', failed: 'red', left_out: 'yellow', not_started: undefined } as const

function upgradeView({ version, hosts }: Upgrade, style: Style, { plan }: Readonly<{ plan: boolean }>): string {
  if (hosts.length === 0) return 'No hosts.'
  const has = (state: State) => hosts.some((host) => host.state === state)
  return sections(
    table(
      style,
      [
        { title: 'HOST', value: ({ host }) => host, priority: 1, minWidth: 12 },
        {
          title: plan ? 'PLANNED' : 'STATE',
          value: ({ state }) => (plan && state === 'not_started' ? 'upgrade' : words[state]),
          priority: 1,
          paint: ({ state }) => tint[state],
        },
        { title: 'AFTER', value: ({ ms }) => (ms === null ? null : duration(ms)), priority: 2, align: 'right' },
        { title: 'WHY', value: ({ why }) => why, priority: 1, minWidth: 20 },
      ],
      hosts,
    ),
    !plan && has('failed')
      ? `The others keep their version. Repair the host (\`tenantry hosts show\`), then type the command again: it continues with what is not at ${clean(version)}.`
      : '',
  )
}
