import { spawn } from 'node:child_process'
import { once, setMaxListeners } from 'node:events'
import ora from 'ora'
import { plural } from '../core/kit/index.ts'
import { packageRoot, systemClock } from '../node/index.ts'
import { after, before, fleet, hosts, unlucky } from './fleet.ts'
import { applyVersion, enrolHosts, openStage, provisionFleet, type Stage } from './stage.ts'

const say = (text = '') => process.stdout.write(`${text}\n`)

/** `npm run demo`: a whole fleet in one process, one staged rollout, one box that fails and is restored. `--exit` ends it there. */
export async function main(): Promise<number> {
  const leaving = new AbortController()
  setMaxListeners(0, leaving.signal) // all agents listen to it
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => leaving.abort())
  say(
    `Tenantry: ${plural(fleet.length, 'simulated box', 'simulated boxes')} on ${hosts.length} hosts, in which a second counts as a minute.\n`,
  )
  const stage = await step('a daemon on embedded defaults', openStage, ({ url }) => `tenantryd at ${url}, on SQLite, nothing installed`)
  const agents: Promise<void>[] = []
  try {
    agents.push(...(await prepare(stage, leaving.signal)))
    return await play(stage, leaving.signal)
  } catch (error) {
    // Whoever leaves early is not told of what was not ready yet.
    if (!leaving.signal.aborted) throw error
    return exitOfInterrupt
  } finally {
    leaving.abort()
    await stage.close()
    await Promise.allSettled(agents)
  }
}

const exitOfInterrupt = 130

/** Hosts, boxes on the former version, and a manifest that asks for the next one. */
async function prepare(stage: Stage, signal: AbortSignal): Promise<Promise<void>[]> {
  const agents = await step(
    'agents',
    () => enrolHosts(stage, signal),
    () => `${hosts.length} hosts enrolled, each with an agent that dialled in`,
  )
  await step(
    'boxes',
    (tell) => buildFleet(stage, tell, signal),
    () => `${fleet.length} boxes provisioned and probed, Synapse ${before}`,
  )
  await step(
    'manifest',
    () => applyVersion(stage, after),
    ({ revision }) => `manifest revision ${revision} asks for Synapse ${after}`,
  )
  return agents
}

/** The rollout is meant to pause; anything else is a fault of the demonstration. */
async function play(stage: Stage, signal: AbortSignal): Promise<number> {
  say('\n$ tenantry rollouts create --start --watch\n')
  const { id, status } = await showRollout(stage)
  signal.throwIfAborted()
  tellWhatNext(stage, id, status)
  if (!process.argv.includes('--exit')) await goOn(signal)
  return status === 'paused' ? 0 : 1
}

async function step<T>(name: string, work: (tell: (text: string) => void) => Promise<T>, done: (result: T) => string): Promise<T> {
  // A spinner that swallows what is typed swallows Ctrl-C with it.
  const spinner = ora({ text: name, stream: process.stdout, isEnabled: process.stdout.isTTY === true, discardStdin: false })
  if (process.stdout.isTTY) spinner.start()
  const tell = (text: string) => {
    spinner.text = text
  }
  const result = await work(tell).finally(() => spinner.stop())
  if (process.stdout.isTTY) spinner.succeed(done(result))
  else say(`  ${done(result)}`)
  return result
}

async function buildFleet(stage: Stage, tell: (text: string) => void, signal: AbortSignal): Promise<void> {
  await applyVersion(stage, before)
  await provisionFleet(stage, (ready) => tell(`${ready} of ${fleet.length} boxes ready`), signal)
}

/** The operator's own command, on this terminal. A board stays until it is left: here the pause leaves it. */
async function showRollout({ api: { rollouts }, url, token }: Stage): Promise<{ id: string; status: string }> {
  const env = { ...process.env, TENANTRY_URL: url, TENANTRY_TOKEN: token }
  const child = spawn(process.execPath, [packageRoot('bin/tenantry.js'), 'rollouts', 'create', '--start', '--watch'], {
    env,
    stdio: 'inherit',
  })
  const ended = once(child, 'exit')
  const stopped = new AbortController()
  const leaveAtPause = (async () => {
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
  await leaveAtPause
  const [rollout] = (await rollouts.listRollouts()).rollouts
  return { id: rollout?.id ?? '', status: rollout?.status ?? 'missing' }
}

/** Who left the board before the pause is told how to come back to it all the same. */
function tellWhatNext({ url, token }: Stage, id: string, status: string): void {
  if (status === 'paused')
    say(`
${unlucky} did not prove healthy on ${after}. Its agent restored it
from the snapshot by itself; the phase paused, and nobody else was touched.`)
  say(`${status === 'paused' ? '' : '\n'}You are the operator now. In another terminal:

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

async function goOn(signal: AbortSignal): Promise<void> {
  say('Daemon and hosts keep running. Ctrl-C ends them.')
  if (!signal.aborted) await once(signal, 'abort')
  say()
}
