import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { median } from './bare-node.js'
import { cpuSeconds, startDaemon } from './daemon-process.js'
import { seedModules } from './module-seed.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const school = { tenants: 1, usersPerTenant: 20, spacesPerUser: 1, tasksPerUser: 1 }
const ports = { daemon: 18_463, bare: 18_464, service: 18_465 }
const [amount, rounds, connections, serviceMs] = sized([1200, 5, 10, 25], [20, 1, 10, 25])
const most = 1.2
const path = '/api/platform/v1/module-api/attendance/lessons'
const noLimit = '10000000'
const settings = { TENANTRY_LIMITS_DEDICATED: noLimit, TENANTRY_LIMITS_PER_ADDRESS: noLimit }

/** A service that needs as long as one with a database does. */
const service = `
  import { createServer } from 'node:http'
  const body = JSON.stringify({ lessons: Array.from({ length: 20 }, (_, n) => ({ id: n, title: 'Lesson ' + n })) })
  createServer((_, response) => setTimeout(() => response.setHeader('content-type', 'application/json').end(body), ${serviceMs}))
    .listen(${ports.service}, '127.0.0.1', () => console.error('ready'))`
const bareProxy = `
  import { Agent, createServer, request } from 'node:http'
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const { hostname, port } = new URL('http://127.0.0.1:${ports.service}')
  createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    incoming.pipe(
      request({ hostname, port, method, path, headers, agent }, (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers)
        answer.pipe(outgoing)
      }),
    )
  }).listen(${ports.bare}, '127.0.0.1', () => console.error('ready'))`

const program = async (code) => {
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'pipe'], cwd })
  await once(child.stderr, 'data')
  return child
}

/** Requests of users to a service through the daemon, and through a bare proxy of Node.js. */
export async function moduleProxy() {
  let users = []
  const seed = async (made) => {
    users = await seedSchools({ databaseUrl: made.databaseUrl, dataDir: `${made.folder}/data` }, school)
    const tenantIds = [`ten_${'0'.repeat(26)}`]
    await seedModules(made, [{ id: 'attendance', upstream: `http://127.0.0.1:${ports.service}`, tenantIds }])
  }
  const daemon = await startDaemon(ports.daemon, { seed, settings })
  const [upstream, bare] = [await program(service), await program(bareProxy)]
  try {
    const plain = { port: ports.bare, pid: bare.pid }
    const ours = { port: ports.daemon, pid: daemon.pid }
    await measured(plain, users)
    await measured(ours, users) // warm
    const found = []
    for (let round = 0; round < rounds; round++) found.push([await measured(plain, users), await measured(ours, users)])
    const ms = median(found.map(([other, own]) => own.ms / other.ms))
    const cpu = Math.round(median(found.map(([, own]) => own.micros)))
    return [
      {
        what: `a request to a service that needs ${serviceMs} ms, against a bare proxy`,
        measured: `${ms.toFixed(2)} × (CPU ${cpu} µs)`,
        reach: `at most ${most} ×`,
        ok: ms <= most,
      },
    ]
  } finally {
    for (const child of [bare, upstream]) child.kill('SIGKILL')
    daemon.close()
  }
}

async function measured({ port, pid }, users) {
  let nth = 0
  const setupClient = (client) => client.setHeaders({ authorization: users[nth++ % users.length] })
  const before = cpuSeconds(pid)
  const { statusCodeStats, latency } = await autocannon({ url: `http://127.0.0.1:${port}${path}`, connections, amount, setupClient })
  if (statusCodeStats[200]?.count !== amount) throw new Error(`${path} was answered with ${Object.keys(statusCodeStats)}`)
  return { ms: latency.mean, micros: ((cpuSeconds(pid) - before) * 1e6) / amount }
}
