import { on, once, setMaxListeners } from 'node:events'
import ora from 'ora'
import { isProblem, plural } from '../core/kit/index.ts'
import { after, before, type Fleet, simulatedFleet } from './fleet.ts'
import { type DemoOptions, demoOptions, usage } from './options.ts'
import { openRealHost } from './real-host.ts'
import { showRollout } from './show-rollout.ts'
import { choosePort, type DemoSetup, enrolHosts, openStage, provisionFleet, type Stage, type StartAgent, simulatedAgents } from './stage.ts'
import { closing, commands, opening } from './story.ts'

const print = (text = '') => process.stdout.write(`${text}\n`)

/** `npm run demo`: a fleet, a staged rollout, one box that fails and is rolled back. */
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

const simulatedSetup: DemoSetup = { fleet: simulatedFleet, startAgent: simulatedAgents(simulatedFleet), removeBoxes: async () => undefined }

async function runDemo(options: DemoOptions): Promise<number> {
  const leaving = new AbortController()
  setMaxListeners(0, leaving.signal) // all agents listen to it
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => leaving.abort())
  const port = await choosePort(options.port)
  const setup = options.docker ? await openRealHost(port) : simulatedSetup
  print(opening(setup.fleet))
  const stage = await step(
    'starting the daemon',
    () => openStage(port, setup.fleet.env),
    ({ url }) => `daemon started at ${url} (SQLite)`,
  )
  const agents: Promise<void>[] = []
  const startAgent: StartAgent = (agent) => {
    const running = setup.startAgent(agent)
    agents.push(running)
    return running
  }
  try {
    await prepare(stage, { ...setup, startAgent }, leaving.signal)
    return await play({ ...stage, fleet: setup.fleet }, options, leaving.signal)
  } catch (error) {
    // After Ctrl-C, errors of unfinished work mean nothing.
    if (!leaving.signal.aborted) throw error
    return exitOfInterrupt
  } finally {
    leaving.abort()
    await Promise.allSettled([stage.close(), ...agents])
    if (options.docker) print('removing the boxes')
    await setup.removeBoxes().finally(stage.removeFiles)
  }
}

const exitOfInterrupt = 130

/** Enrols hosts, provisions boxes on the old version, and applies a manifest with the new one. */
async function prepare(stage: Stage, { fleet, startAgent }: DemoSetup, signal: AbortSignal): Promise<void> {
  await step(
    'enrolling hosts',
    () => enrolHosts(stage, { names: fleet.hosts, startAgent }, signal),
    () => `${plural(fleet.hosts.length, 'host', 'hosts')} enrolled and online`,
  )
  await step(
    'provisioning boxes',
    (update) => buildFleet({ stage, fleet, update }, signal),
    () => `${fleet.boxes.length} boxes provisioned and healthy (Synapse ${before})`,
  )
  await step(
    'applying the manifest',
    () => applyManifest(stage, fleet.after),
    ({ revision }) => `manifest revision ${revision} applied (Synapse ${after})`,
  )
}

type DemoStage = Stage & Readonly<{ fleet: Fleet }>

/** Returns 0 when the rollout pauses as intended. */
async function play(stage: DemoStage, { docker, exit }: DemoOptions, signal: AbortSignal): Promise<number> {
  print('\n$ tenantry rollouts create --start --watch\n')
  const { id, status } = await showRollout(stage, !exit)
  signal.throwIfAborted()
  print(await seen(stage, id))
  if (exit) print(`\nThe demo ends here. Keep it running, to try the commands of an operator: npm run demo${docker ? ' -- --docker' : ''}`)
  else {
    print(commands({ ...stage, id, unlucky: stage.fleet.unlucky, consoleLink: stage.consoleLink() }))
    await waitForExit(signal)
  }
  return status === 'paused' ? 0 : 1
}

async function seen({ api: { rollouts }, fleet }: DemoStage, id: string): Promise<string> {
  const [report, { attempts }] = await Promise.all([
    rollouts.reportRollout({ params: { id } }),
    rollouts.getRolloutAction({ params: { id, slug: fleet.unlucky } }),
  ])
  const tookMs = attempts[0]?.steps.filter(({ step }) => step.startsWith('restore')).map(({ durationMs }) => durationMs ?? 0) ?? []
  return closing({ ...report, fleet, restoredInMs: tookMs.length === 0 ? null : tookMs.reduce((sum, ms) => sum + ms) })
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

type Building = Readonly<{ stage: Stage; fleet: Fleet; update(text: string): void }>

async function buildFleet({ stage, fleet: { boxes, before: manifest }, update }: Building, signal: AbortSignal): Promise<void> {
  await applyManifest(stage, manifest)
  await provisionFleet(stage, { boxes, onReady: (ready) => update(`${ready} of ${boxes.length} boxes ready`) }, signal)
}

const applyManifest = ({ api: { boxes } }: Stage, manifest: unknown) => boxes.applyManifest({ body: { manifest } })

async function waitForExit(signal: AbortSignal): Promise<void> {
  const { stdin } = process
  print(`Daemon and hosts keep running. Press ${stdin.isTTY ? 'q or ' : ''}Ctrl-C to stop.`)
  const ended = new AbortController()
  const events = [once(signal, 'abort', { signal: ended.signal }), ...(stdin.isTTY ? [quitKey(ended.signal)] : [])]
  if (!signal.aborted) await Promise.race(events)
  ended.abort()
  await Promise.allSettled(events)
  print()
}

const ctrlC = String.fromCharCode(3)

/** Waits for q or Ctrl-C, which arrives as a key here. */
async function quitKey(signal: AbortSignal): Promise<void> {
  const { stdin } = process
  stdin.setRawMode(true)
  try {
    for await (const [keys] of on(stdin, 'data', { signal })) if (/[qQ]/.test(String(keys)) || String(keys).includes(ctrlC)) return
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
  }
}
