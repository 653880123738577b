import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { cpuSeconds, startDaemon } from './daemon-process.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const school = { tenants: sized(60, 2), usersPerTenant: 40, spacesPerUser: 6, tasksPerUser: 8 }
const [amount, rounds, connections] = sized([4800, 9, 20], [80, 1, 20])
const [daemonPort, barePort] = [18_441, 18_442]
const path = '/api/platform/v1/bootstrap'
const least = 0.6

/** The plainest route there is, with the same document. */
const bareRoute = `
  import express from 'express'
  const document = JSON.parse(process.env.DOCUMENT)
  const app = express().get('${path}', (_, response) => response.json(document))
  app.listen(${barePort}, '127.0.0.1', () => console.error('ready'))`

// What is measured is the way of a request that is let through: nobody comes near a limit.
const outOfReach = '10000000'
const settings = {
  TENANTRY_LIMITS_LIGHT: outOfReach,
  TENANTRY_LIMITS_PRO: outOfReach,
  TENANTRY_LIMITS_DEDICATED: outOfReach,
  TENANTRY_LIMITS_PER_ADDRESS: outOfReach,
}

/** Each connection is some of the users, one after the other, so that at no time two ask for the same. */
function askedBy(users) {
  const share = users.length / connections
  let nth = 0
  return (client) => {
    const mine = users.slice(nth * share, ++nth * share)
    client.setRequests(mine.map((headers) => ({ method: 'GET', path, headers })))
  }
}

/** Microseconds of the server's processor for each request, which is what bounds the throughput of a server of one thread. */
async function measured({ port, pid }, users, status) {
  const before = cpuSeconds(pid)
  const { statusCodeStats } = await autocannon({ url: `http://127.0.0.1:${port}`, connections, amount, setupClient: askedBy(users) })
  if (statusCodeStats[status]?.count !== amount) throw new Error(`${path} was answered with ${Object.keys(statusCodeStats)}, not ${status}`)
  return ((cpuSeconds(pid) - before) * 1e6) / amount
}

/** `GET /bootstrap` of the running daemon, with all that a call passes, against a bare Express route that answers the same document. */
export async function bootstrapThroughput() {
  let users = []
  const seed = async ({ databaseUrl, folder }) => {
    users = (await seedSchools({ databaseUrl, dataDir: join(folder, 'data') }, school)).map((authorization) => ({ authorization }))
  }
  const daemon = await startDaemon(daemonPort, { seed, settings })
  const { document, tags } = await asked(daemon.url, users)
  const bare = spawn(process.execPath, ['--input-type=module', '-e', bareRoute], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, DOCUMENT: document },
  })
  try {
    await once(bare.stderr, 'data')
    const [plain, ours] = [
      { port: barePort, pid: bare.pid },
      { port: daemonPort, pid: daemon.pid },
    ]
    await measured(plain, users, 200) // warm
    await measured(ours, users, 200)
    const ratios = []
    for (let round = 0; round < rounds; round++) {
      const micros = await measured(plain, users, 200)
      ratios.push({ whole: micros / (await measured(ours, users, 200)), held: micros / (await measured(ours, tags, 304)) })
    }
    return [
      row(
        `unchanged \`GET /bootstrap\` of ${users.length} users against a bare Express route`,
        ratios.map(({ whole }) => whole),
      ),
      row(
        'the same with `If-None-Match`, answered by 304',
        ratios.map(({ held }) => held),
      ),
    ]
  } finally {
    bare.kill('SIGKILL')
    daemon.close()
  }
}

/** Everybody's document once: one of them, and the tags of all. */
async function asked(url, users) {
  const tags = []
  let document = ''
  for (const headers of users) {
    const answer = await fetch(`${url}${path}`, { headers })
    document = await answer.text()
    tags.push({ ...headers, 'if-none-match': answer.headers.get('etag') })
  }
  return { document, tags }
}

function row(what, ratios) {
  const ratio = ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)]
  return { what, measured: `${Math.round(ratio * 100)} %`, reach: `at least ${least * 100} %`, ok: ratio >= least }
}
