import { fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { api } from '../dist/core/api.js'
import { makeClient } from '../dist/core/contract/index.js'
import { cpuSeconds, residentBytes, startDaemon, wait } from './daemon-process.js'
import { seedFleet } from './fleet-seed.js'
import { sized } from './size.js'

const fleet = sized({ hosts: 1000, boxesPerHost: 10 }, { hosts: 10, boxesPerHost: 2 })
const steadyMs = sized(60_000, 500)
const asked = sized(200, 5)

const clientOf = (url, room, token) =>
  makeClient(api[room], { baseUrl: url, headers: () => (token ? { authorization: `Bearer ${token}` } : {}) })

/** One daemon before 1,000 agents with 10,000 boxes: at rest, asked for a probe now and then, asked about all of it at once. */
export async function fleetScale() {
  const daemon = await startDaemon(18_434, {
    seed: async ({ databaseUrl, url, folder }) => {
      writeFileSync(join(folder, 'fleet.json'), JSON.stringify({ hosts: await seedFleet(databaseUrl, url, fleet) }), { mode: 0o600 })
    },
  })
  const agents = fork(fileURLToPath(new URL('./fleet-agents.js', import.meta.url)), [join(daemon.folder, 'fleet.json')], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    const { token } = await clientOf(daemon.url, 'admin').login({ body: { name: 'anna', password: daemon.password } })
    const client = (room) => clientOf(daemon.url, room, token)
    await untilAllOnline(client('hosts'))
    await wait(10_000)
    const [before, startMs] = [cpuSeconds(daemon.pid), performance.now()]
    const pickUps = await pickUpTimes(client('boxes'), agents)
    const share = (cpuSeconds(daemon.pid) - before) / ((performance.now() - startMs) / 1000)
    const [driftMs, scanMs] = [await drift(client('crons')), await timeOf(() => client('boxes').scanBoxes({ body: {} }))]
    await wait(15_000) // while all of them answer
    const overviewMs = await overviewTime(client)
    const memory = residentBytes(daemon.pid)
    const p99 = pickUps.sort((a, b) => a - b)[Math.floor(pickUps.length * 0.99)]
    const of = '10,000 boxes on 1,000 hosts'
    return [
      row(`${of}, steady state, of one core`, `${Math.round(share * 100)} %`, 'under 25 %', share < 0.25),
      row(`${of}, command pick-up, 99th percentile`, `${Math.round(p99)} ms`, 'under 100 ms', p99 < 100),
      row(`${of}, a question to each, queued`, `${Math.round(scanMs)} ms`, 'under 2,000 ms', scanMs < 2000),
      row(`${of}, drift scan`, `${Math.round(driftMs)} ms`, 'under 2,000 ms', driftMs < 2000),
      row(`${of}, what the overview asks for, together`, `${Math.round(overviewMs)} ms`, 'under 300 ms', overviewMs < 300),
      row(`${of}, resident memory of the daemon`, `${Math.round(memory / 1e6)} MB`, 'under 400 MB', memory < 400e6),
    ]
  } finally {
    agents.kill('SIGKILL')
    daemon.close()
  }
}

const row = (what, measured, reach, ok) => ({ what, measured, reach, ok })

async function untilAllOnline(hosts) {
  for (let turn = 0; turn < 60; turn++) {
    await wait(5000)
    // A daemon that is busy with a thousand hellos may close a connection that was idle.
    const { hosts: found } = await hosts.listHosts().catch(() => ({ hosts: [{ status: 'unknown' }] }))
    if (found.every(({ status }) => status === 'online')) return
  }
  throw new Error('not all agents came online')
}

/** From the moment a person asks to the moment the agent begins, for boxes all over the fleet, spread over the time of rest. */
async function pickUpTimes(boxes, agents) {
  const askedAt = new Map()
  const began = new Map()
  agents.on('message', ({ began: id, atMs }) => began.set(id, atMs))
  const endMs = performance.now() + steadyMs
  for (let nth = 0; nth < asked; nth++) {
    const slug = `t${String((nth * 37) % fleet.hosts).padStart(4, '0')}-${nth % fleet.boxesPerHost}`
    const atMs = Date.now()
    const { commandId } = await boxes.checkBox({ params: { slug } })
    askedAt.set(commandId, atMs)
    await wait(Math.max(0, (endMs - performance.now()) / (asked - nth)))
  }
  await wait(1000)
  return [...askedAt].map(([id, atMs]) => (began.get(id) ?? Number.POSITIVE_INFINITY) - atMs)
}

/** Median of what the first page of the console asks for at once. */
async function overviewTime(client) {
  const times = []
  for (let turn = 0; turn < 11; turn++)
    times.push(
      await timeOf(() =>
        Promise.all([
          client('alerts').listAlerts({ query: { status: 'open', limit: 200 } }),
          client('rollouts').listRollouts({ query: { limit: 50 } }),
          client('boxes').countBoxes(),
          client('hosts').listHosts(),
          client('jobs').listJobs({ query: { limit: 1 } }),
          client('snapshots').summarizeProofs(),
        ]),
      ),
    )
  return times.sort((a, b) => a - b)[5]
}

/** How long the run took, without its wait in the queue. */
async function drift(crons) {
  const params = { jobKey: 'tenant-box-drift-detection' }
  const { success, message } = await crons.triggerCron({ params })
  if (!success) throw new Error(message)
  return (await crons.cronHistory({ params, query: { limit: 1 } })).runs[0].duration_ms
}

async function timeOf(work) {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
