import { once, setMaxListeners } from 'node:events'
import ora from 'ora'
import { isProblem } from '../core/kit/index.ts'
import { after, before, fleet, hosts, unlucky } from './fleet.ts'
import { type DemoOptions, demoOptions, usage } from './options.ts'
import { showRollout } from './show-rollout.ts'
import { applyVersion, enrolHosts, openStage, provisionFleet, type Stage } from './stage.ts'
import { closing, commands, opening } from './story.ts'

const print = (text = '') => process.stdout.write(`${text}\n`)

/** `npm run demo`: a fleet in one process, a staged rollout, one box that fails and is rolled back. */
export async function main(): Promise<number> {
  try {
    const options = demoOptions(process.argv.slice(2))
    if (!options.help) return await runDemo(options)
    print(usage)
    return 0
  } catch (error) {
    if (!isProblem(error)) throw error
    process.stderr.write(`error: ${error.message} [${error.code}]\n`)
    return error.exit
  }
}

async function runDemo(options: DemoOptions): Promise<number> {
  const leaving = new AbortController()
  setMaxListeners(0, leaving.signal) // all agents listen to it
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => leaving.abort())
  print(opening)
  const stage = await step(
    'starting the daemon',
    () => openStage(options.port),
    ({ url }) => `daemon started at ${url} (SQLite)`,
  )
  const agents: Promise<void>[] = []
  try {
    agents.push(...(await prepare(stage, leaving.signal)))
    return await play(stage, options, leaving.signal)
  } catch (error) {
    // After Ctrl-C, errors of unfinished work mean nothing.
    if (!leaving.signal.aborted) throw error
    return exitOfInterrupt
  } finally {
    leaving.abort()
    await Promise.allSettled([stage.close(), ...agents])
    await stage.removeFiles()
  }
}

const exitOfInterrupt = 130

/** Enrols hosts, provisions boxes on the old version, and applies a manifest with the new one. */
async function prepare(stage: Stage, signal: AbortSignal): Promise<Promise<void>[]> {
  const agents = await step(
    'enrolling hosts',
    () => enrolHosts(stage, signal),
    () => `${hosts.length} hosts enrolled and online`,
  )
  await step(
    'provisioning boxes',
    (update) => buildFleet(stage, update, signal),
    () => `${fleet.length} boxes provisioned and healthy (Synapse ${before})`,
  )
  await step(
    'applying the manifest',
    () => applyVersion(stage, after),
    ({ revision }) => `manifest revision ${revision} applied (Synapse ${after})`,
  )
  return agents
}

/** Returns 0 when the rollout pauses as intended. */
async function play(stage: Stage, { exit }: DemoOptions, signal: AbortSignal): Promise<number> {
  print('\n$ tenantry rollouts create --start --watch\n')
  const { id, status } = await showRollout(stage, !exit)
  signal.throwIfAborted()
  print(await seen(stage, id))
  if (exit) print('\nThe demo ends here. Keep it running, to try the commands of an operator: npm run demo')
  else {
    print(commands({ ...stage, id }))
    await waitForExit(signal)
  }
  return status === 'paused' ? 0 : 1
}

async function seen({ api: { rollouts } }: Stage, id: string): Promise<string> {
  const [report, { attempts }] = await Promise.all([
    rollouts.reportRollout({ params: { id } }),
    rollouts.getRolloutAction({ params: { id, slug: unlucky } }),
  ])
  const tookMs = attempts[0]?.steps.filter(({ step }) => step.startsWith('restore')).map(({ durationMs }) => durationMs ?? 0) ?? []
  return closing({ ...report, restoredInMs: tookMs.length === 0 ? null : tookMs.reduce((sum, ms) => sum + ms) })
}

async function step<T>(name: string, work: (update: (text: string) => void) => Promise<T>, done: (result: T) => string): Promise<T> {
  // discardStdin would also discard Ctrl-C.
  const spinner = ora({ text: name, stream: process.stdout, isEnabled: process.stdout.isTTY === true, discardStdin: false })
  if (process.stdout.isTTY) spinner.start()
  const update = (text: string) => {
    spinner.text = text
  }
  const result = await work(update).finally(() => spinner.stop())
  if (process.stdout.isTTY) spinner.succeed(done(result))
  else print(`  ${done(result)}`)
  return result
}

async function buildFleet(stage: Stage, update: (text: string) => void, signal: AbortSignal): Promise<void> {
  await applyVersion(stage, before)
  await provisionFleet(stage, (ready) => update(`${ready} of ${fleet.length} boxes ready`), signal)
}

async function waitForExit(signal: AbortSignal): Promise<void> {
  print('Daemon and hosts keep running. Press Ctrl-C to stop.')
  if (!signal.aborted) await once(signal, 'abort')
  print()
}
