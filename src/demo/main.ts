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
  const agents = await step(
    'agents',
    () => enrolHosts(stage, leaving.signal),
    () => `${hosts.length} hosts enrolled, each with an agent that dialled in`,
  )
  await step(
    'boxes',
    (tell) => buildFleet(stage, tell),
    () => `${fleet.length} boxes provisioned and probed, Synapse ${before}`,
  )
  await step(
    'manifest',
    () => applyVersion(stage, after),
    ({ revision }) => `manifest revision ${revision} asks for Synapse ${after}`,
  )
  say('\n$ tenantry rollouts create --start --watch\n')
  const { id, status } = await showRollout(stage)
  if (status === 'paused') tellWhatNext(stage, id)
  if (!process.argv.includes('--exit')) await goOn(leaving.signal)
  leaving.abort()
  await stage.close()
  await Promise.allSettled(agents)
  // The rollout is meant to pause; anything else is a fault of the demonstration.
  return status === 'paused' ? 0 : 1
}

async function step<T>(name: string, work: (tell: (text: string) => void) => Promise<T>, done: (result: T) => string): Promise<T> {
  const spinner = ora({ text: name, stream: process.stdout, isEnabled: process.stdout.isTTY === true })
  if (process.stdout.isTTY) spinner.start()
  const result = await work((text) => {
    spinner.text = text
  })
  if (process.stdout.isTTY) spinner.succeed(done(result))
  else say(`  ${done(result)}`)
  return result
}

async function buildFleet(stage: Stage, tell: (text: string) => void): Promise<void> {
  await applyVersion(stage, before)
  await provisionFleet(stage, (ready) => tell(`${ready} of ${fleet.length} boxes ready`))
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

function tellWhatNext({ url, token }: Stage, id: string): void {
  say(`
${unlucky} did not prove healthy on ${after}. Its agent restored it
from the snapshot by itself; the phase paused, and nobody else was touched.
You are the operator now. In another terminal:

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
