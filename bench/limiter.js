import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { createClient } from 'redis'
import { memoryStore, redisStore } from '../dist/daemon/limits/index.js'
import { silentLogger, systemClock } from '../dist/node/index.js'
import { cpuSeconds } from './daemon-process.js'

// What one decision costs against rate-limiter-flexible doing less (a fixed window of a minute, no delay, nothing given back), with the
// same tenants in the same order, in turn, pair by pair. Nobody is refused: the budget of both is out of reach.

const rounds = 9
const tenants = Array.from({ length: 1000 }, (_, n) => `ten_${n}`)
const budget = 1_000_000_000
const most = 1
const ofRedis = 'a budget decision on Redis against rate-limiter-flexible, 100 at once'
const reach = `at most ${most.toFixed(1)} ×`

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Asks one after the other. */
async function inTurn(decide, count) {
  for (let n = 0; n < count; n++) await decide(tenants[n % tenants.length])
}

/** The same with so many under way at once, as in a busy daemon. */
async function atOnce(decide, count, width = 100) {
  let next = 0
  const worker = async () => {
    while (next < count) await decide(tenants[next++ % tenants.length])
  }
  await Promise.all(Array.from({ length: width }, worker))
}

/** Processor time of this process and, where there is one, of the store's: what else the machine does is not in it. */
async function spent(work, server) {
  const [begun, stored] = [process.cpuUsage(), server ? cpuSeconds(server) : 0]
  await work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1e6 + (server ? cpuSeconds(server) - stored : 0)
}

async function compare(what, { ask, ours, theirs, server }) {
  const run = (decide) => spent(() => ask(decide), server)
  await run(ours)
  await run(theirs)
  const ratios = []
  for (let round = 0; round < rounds; round++) {
    const [own, other] = round % 2 ? [await run(ours), await run(theirs)] : [await run(theirs), await run(ours)].reverse()
    ratios.push(own / other)
  }
  const ratio = median(ratios)
  return { what, measured: `${ratio.toFixed(2)} ×`, reach, ok: ratio <= most }
}

async function inProcess() {
  const store = memoryStore(systemClock)
  const peer = new RateLimiterMemory({ points: budget, duration: 60 })
  const row = await compare('a budget decision in memory against rate-limiter-flexible', {
    ask: (decide) => inTurn(decide, 200_000),
    ours: async (tenantId) => store.take(tenantId, budget),
    theirs: (tenantId) => peer.consume(tenantId),
  })
  await store.close()
  return row
}

async function onRedis(port, pid) {
  const url = `redis://127.0.0.1:${port}`
  const store = await redisStore({ clock: systemClock, log: silentLogger(), url, deadlineMs: 10_000 })
  const client = createClient({ url })
  await client.connect()
  const peer = new RateLimiterRedis({ storeClient: client, useRedisPackage: true, points: budget, duration: 60 })
  try {
    return await compare(ofRedis, {
      ask: (decide) => atOnce(decide, 20_000),
      ours: (tenantId) => store.take(tenantId, budget),
      theirs: (tenantId) => peer.consume(tenantId),
      server: pid,
    })
  } finally {
    await store.close()
    client.destroy()
  }
}

async function withRedis(work) {
  const port = 18_434
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], { cwd: '/' })
  try {
    for (let said = ''; !said.includes('Ready to accept connections'); ) said += String((await once(server.stdout, 'data'))[0])
    server.stdout.resume()
    return await work(port, server.pid)
  } finally {
    server.kill('SIGKILL')
  }
}

/** Cost of the limiter, in process and, where there is a Redis, on it. */
export async function limiter() {
  const hasRedis = spawnSync('redis-server', ['--version']).status === 0
  return [await inProcess(), hasRedis ? await withRedis(onRedis) : { what: ofRedis, measured: 'no redis-server', reach, ok: undefined }]
}
