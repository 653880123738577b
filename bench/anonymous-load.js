// Anonymous callers must not slow down users: a request of a user while 32 anonymous connections ask for the dearest pages, against a quiet daemon.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuSeconds, startDaemon } from './daemon-process.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const school = { tenants: 4, usersPerTenant: 20, spacesPerUser: 6, tasksPerUser: 8 }
const [port, connections, samples, maxFactor] = [18_447, 32, sized(200, 20), 2]
const bootstrap = '/api/platform/v1/bootstrap'

const asset = readdirSync(new URL('../dist/console/assets', import.meta.url)).find((name) => name.endsWith('.js'))
const pages = [
  ...['/openapi.json', '/docs', '/metrics', '/readyz', '/nowhere', '/api/platform/v1/nowhere', '/console/'],
  ...[`/console/assets/${asset}`, '/console/assets/none.js', '/api/public/marketplace/submissions/sub_none', bootstrap],
  ...['/api/public/store/artifacts/none', '/api/admin/v1/whoami', '/.well-known/jwks.json'],
]

/** @param {number} addresses */
const connectionsOf = (addresses) => Math.max(connections, addresses)

/**
 * @param {{ path: string, agent: Agent, headers: Record<string, string> }} call
 * @returns {Promise<number>} the status; 0 for a connection that was closed
 */
const ask = ({ path, agent, headers }) =>
  new Promise((done) => {
    const sent = request({ port, path, agent, headers }, (response) => {
      response.on('end', () => done(response.statusCode ?? 0)).on('error', () => done(0))
      response.resume()
    })
    sent.on('error', () => done(0)).end()
  })

/**
 * Median time of a user's request in milliseconds. The user comes through a trusted proxy, from another address than the anonymous callers.
 * @param {readonly string[]} users
 */
async function medianMs(users) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times = []
  for (let n = 0; n < samples; n++) {
    const headers = { authorization: /** @type {string} */ (users[n % users.length]), 'x-forwarded-for': `198.51.100.${n % 200}` }
    const begun = performance.now()
    const status = await ask({ path: bootstrap, agent, headers })
    if (status !== 200) throw new Error(`${bootstrap} was answered with ${status}`)
    times.push(performance.now() - begun)
  }
  agent.destroy()
  return times.sort((a, b) => a - b)[samples / 2] ?? 0
}

/**
 * Asks for all pages on each connection until SIGTERM, in a process of its own: large answers would delay the measured ones here. Prints its counts.
 * @param {number} addresses of the callers
 */
async function askAll(addresses) {
  let isOver = false
  process.once('SIGTERM', () => {
    isOver = true
  })
  const counts = { answered: 0, refused: 0 }
  const loop = async (/** @type {number} */ nth) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let n = nth; !isOver; n++) {
      const headers = { 'x-forwarded-for': `198.18.${(nth % addresses) >> 4}.${nth % 16}` }
      const status = await ask({ path: /** @type {string} */ (pages[n % pages.length]), agent, headers })
      counts[status === 200 ? 'answered' : 'refused'] += 1
    }
    agent.destroy()
  }
  const loops = Array.from({ length: connectionsOf(addresses) }, (_, nth) => loop(nth))
  console.log('asking')
  await Promise.all(loops)
  console.log(JSON.stringify(counts))
}

/** @param {number} addresses */
async function anonymousLoad(addresses) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'load', String(addresses)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const end = async () => {
    child.kill('SIGTERM')
    const [text] = await once(child.stdout, 'data')
    return JSON.parse(String(text))
  }
  return { end }
}

if (process.argv[2] === 'load') await askAll(Number(process.argv[3]))

/** More than the bounds of one address let through. */
const manyAddresses = 500

const settleMs = sized(3000, 300)

export async function anonymousLoadBench() {
  /** @type {string[]} */
  let users = []
  const daemon = await startDaemon(port, {
    settings: { TENANTRY_TRUSTED_PROXIES: '127.0.0.1', TENANTRY_LIMITS_LIGHT: '10000000', TENANTRY_LIMITS_PRO: '10000000' },
    seed: async (/** @type {{ databaseUrl: string, folder: string }} */ { databaseUrl, folder }) => {
      users = await seedSchools({ databaseUrl, dataDir: join(folder, 'data') }, school)
    },
  })
  try {
    await medianMs(users) // warm
    await ask({ path: '/openapi.json', agent: new Agent(), headers: {} }) // made by its first reader
    const rows = []
    for (const addresses of [1, connections, manyAddresses]) {
      const quiet = await medianMs(users)
      const load = await anonymousLoad(addresses)
      await new Promise((next) => setTimeout(next, settleMs))
      const [begunMs, cpu] = [performance.now(), cpuSeconds(daemon.pid)]
      await new Promise((next) => setTimeout(next, settleMs))
      const share = (1000 * (cpuSeconds(daemon.pid) - cpu)) / (performance.now() - begunMs)
      const loaded = await medianMs(users)
      const { answered, refused } = await load.end()
      rows.push(row({ addresses, quiet, loaded, answered, refused, share }))
    }
    return rows
  } finally {
    daemon.close()
  }
}

/** @param {{ addresses: number, quiet: number, loaded: number, answered: number, refused: number, share: number }} found */
function row({ addresses, quiet, loaded, answered, refused, share }) {
  const from = addresses === 1 ? 'one address' : `${addresses} addresses`
  console.error(`${from}: ${quiet} to ${loaded} ms, ${answered} answers, ${refused} refusals, ${Math.round(100 * share)} % of a core`)
  return {
    what: `\`GET /bootstrap\` beside ${connectionsOf(addresses)} connections of strangers, ${from}, median`,
    measured: `${(loaded / quiet).toFixed(2)} ×`,
    reach: `at most ${maxFactor} ×`,
    ok: loaded <= maxFactor * quiet,
  }
}
