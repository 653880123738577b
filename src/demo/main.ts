import { spawn } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import ora from 'ora'
import { plural } from '../core/kit/index.ts'
import { packageRoot, systemClock } from '../node/index.ts'
import { after, before, fleet, hosts, unlucky } from './fleet.ts'
import { applyVersion, enrolHosts, openStage, provisionFleet, type Stage } from './stage.ts'

const print = (text = '') => process.stdout.write(`${text}\n`)

/** `npm run demo`: a fleet in one process, a staged rollout, one box that fails and is rolled back. `--exit` exits after the rollout. */
export async function main(): Promise<number> {
  const leaving = new AbortController()
  setMaxListeners(0, leaving.signal) // all agents listen to it
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => leaving.abort())
  print(
    `Tenantry demo: ${plural(fleet.length, 'simulated box', 'simulated boxes')} on ${hosts.length} hosts. Simulated time runs 60 times faster.

  box      the chat server, database and object store of one tenant
  canary   the first box of a rollout; it fails before others are touched
  fence    maintenance mode: users get an error page while their box is updated
`,
  )
  const stage = await step('starting the daemon', openStage, ({ url }) => `daemon started at ${url} (SQLite)`)
  const agents: Promise<void>[] = []
  try {
    agents.push(...(await prepare(stage, leaving.signal)))
    return await play(stage, leaving.signal)
  } catch (error) {
    // After Ctrl-C, errors of unfinished work mean nothing.
    if (!leaving.signal.aborted) throw error
    return exitOfInterrupt
  } finally {
    leaving.abort()
    await stage.close()
    await Promise.allSettled(agents)
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
async function play(stage: Stage, signal: AbortSignal): Promise<number> {
  print('\n$ tenantry rollouts create --start --watch\n')
  const { id, status } = await showRollout(stage)
  signal.throwIfAborted()
  printNextSteps(stage, id, status)
  if (!process.argv.includes('--exit')) await waitForExit(signal)
  return status === 'paused' ? 0 : 1
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

/** Runs the operator's command on this terminal, and quits its board when the rollout pauses. */
async function showRollout({ api: { rollouts }, url, token }: Stage): Promise<{ id: string; status: string }> {
  const env = { ...process.env, TENANTRY_URL: url, TENANTRY_TOKEN: token }
  const child = spawn(process.execPath, [packageRoot('bin/tenantry.js'), 'rollouts', 'create', '--start', '--watch'], {
    env,
    stdio: 'inherit',
  })
  const ended = once(child, 'exit')
  const stopped = new AbortController()
  const quitAtPause = (async () => {
    while (!stopped.signal.aborted) {
      const [rollout] = (await rollouts.listRollouts()).rollouts
      if (rollout?.status === 'paused') {
        await systemClock.sleep(1500, stopped.signal)
        child.kill('SIGINT')
        return
      }
      await systemClock.sleep(300, stopped.signal)
    }
  })()
  await ended
  stopped.abort()
  await quitAtPause
  const [rollout] = (await rollouts.listRollouts()).rollouts
  return { id: rollout?.id ?? '', status: rollout?.status ?? 'missing' }
}

/** Prints the next commands, also when the board was quit before the pause. */
function printNextSteps({ url, token }: Stage, id: string, status: string): void {
  if (status === 'paused')
    print(`
${unlucky} failed its health checks on ${after}. Its agent rolled it back to ${before}
without data loss, and the rollout paused. All other boxes are healthy.`)
  print(`${status === 'paused' ? '' : '\n'}You are the operator now. Run in another terminal:

  export TENANTRY_URL=${url}
  export TENANTRY_TOKEN=${token}

  npx tenantry rollouts show ${id} --box ${unlucky}
  npx tenantry rollouts rehearse --fail ${unlucky}
  npx tenantry rollouts resume ${id} --skip-failed
  npx tenantry rollouts watch ${id}
  npx tenantry boxes list
  npx tenantry audit verify
`)
}

async function waitForExit(signal: AbortSignal): Promise<void> {
  print('Daemon and hosts keep running. Press Ctrl-C to stop.')
  if (!signal.aborted) await once(signal, 'abort')
  print()
}
