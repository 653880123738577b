import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'
import { median } from './bare-node.js'
import { startDaemon } from './daemon-process.js'
import { seedModules } from './module-seed.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const school = { tenants: 9, usersPerTenant: 40, spacesPerUser: 6, tasksPerUser: 8 }
const [port, connections] = [18_461, 10]
const [amount, rounds] = sized([2400, 5], [40, 1])
const least = 0.8
const path = '/api/platform/v1/bootstrap'
const tenantId = (n) => `ten_${String(n).padStart(8, '0')}${'0'.repeat(18)}`
const noLimit = '10000000'
const settings = {
  ...{ TENANTRY_LIMITS_LIGHT: noLimit, TENANTRY_LIMITS_PRO: noLimit, TENANTRY_LIMITS_DEDICATED: noLimit },
  TENANTRY_LIMITS_PER_ADDRESS: noLimit,
}

const looping = 'export const handle = async () => { for (;;); }'
/** As much work for the thread of the daemon as a run can make: large calls, all at once. */
const flooding = `const text = 'x'.repeat(200000)
export const handle = async (request, svc) => {
  await Promise.all(Array.from({ length: 190 }, (_, n) => svc.data.put('k' + n, text)))
  for (;;);
}`
const publishing = `export const handle = async (request, svc) => {
  await Promise.all(Array.from({ length: 100 }, (_, n) => svc.events.publish('counted', { n })))
  return { status: 204 }
}`

/**
 * `GET /bootstrap` of one tenant while modules of eight others loop for ever, while they flood their calls, and while ten modules of the own tenant
 * publish 1,000 events. Throughput is that of the thread of the daemon, by its CPU time: benchmark and sandbox share the cores of this machine.
 */
export async function moduleLoad() {
  let users = []
  const others = Array.from({ length: 8 }, (_, n) => n + 1)
  const publishers = Array.from({ length: 10 }, (_, n) => `publisher-${n}`)
  const seed = async (made) => {
    users = await seedSchools({ databaseUrl: made.databaseUrl, dataDir: `${made.folder}/data` }, school)
    await seedModules(made, [
      { id: 'looping', code: looping, tenantIds: others.map(tenantId) },
      { id: 'flooding', code: flooding, tenantIds: others.map(tenantId) },
      ...publishers.map((id) => ({ id, code: publishing, tenantIds: [tenantId(0)] })),
    ])
  }
  const daemon = await startDaemon(port, { seed, settings })
  const usersOf = (tenant) => users.slice(tenant * school.usersPerTenant, (tenant + 1) * school.usersPerTenant)
  const call = (authorization, id) => fetch(`${daemon.url}/api/platform/v1/module-api/${id}/`, { headers: { authorization } })
  try {
    const measure = () => microsOfThread(daemon, usersOf(0))
    const whileAll = async (id) => {
      const stop = new AbortController()
      const callers = others.map(async (tenant) => {
        while (!stop.signal.aborted) await (await call(usersOf(tenant)[0], id)).text()
      })
      const micros = await measure()
      stop.abort()
      await Promise.all(callers)
      return micros
    }
    await measure() // warm
    await (await call(usersOf(1)[0], 'looping')).text()
    const [loops, floods, events] = [[], [], []]
    for (let round = 0; round < rounds; round++) {
      const quiet = await measure()
      loops.push(quiet / (await whileAll('looping')))
      floods.push(quiet / (await whileAll('flooding')))
      const published = publishers.slice(2 * round, 2 * round + 2).map(async (id) => (await (await call(usersOf(0)[0], id)).text()) || 204)
      const micros = await measure()
      const refused = (await Promise.all(published)).filter((answer) => answer !== 204)
      if (refused.length > 0) throw new Error(`publishing was answered with ${refused}`)
      events.push(quiet / micros)
    }
    return [
      row('`GET /bootstrap` while eight modules loop for ever, against a quiet daemon', median(loops)),
      row('the same while eight modules flood their calls', median(floods)),
      row('the same while modules publish 1,000 events', median(events)),
    ]
  } finally {
    daemon.close()
  }
}

const row = (what, share) => ({ what, measured: `${Math.round(share * 100)} %`, reach: `at least ${least * 100} %`, ok: share >= least })

/** Microseconds of the main thread for each answer: its requests, and what it does for modules meanwhile. */
async function microsOfThread({ url, pid }, users) {
  const before = mainThreadSeconds(pid)
  let nth = 0
  const share = users.length / connections
  const setupClient = (client) => {
    client.setRequests(
      users.slice(nth * share, ++nth * share).map((authorization) => ({ method: 'GET', path, headers: { authorization } })),
    )
  }
  const { statusCodeStats } = await autocannon({ url, connections, amount, setupClient })
  if (statusCodeStats[200]?.count !== amount) throw new Error(`${path} was answered with ${Object.keys(statusCodeStats)}`)
  return ((mainThreadSeconds(pid) - before) * 1e6) / amount
}

/** CPU time of the main thread of a process: that of the scheduler, in nanoseconds. */
const mainThreadSeconds = (pid) => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9
