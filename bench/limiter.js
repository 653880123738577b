import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { createClient } from 'redis'
import { memoryStore, redisStore } from '../dist/daemon/limits/index.js'
import { silentLogger, systemClock } from '../dist/node/index.js'

// What one decision costs against rate-limiter-flexible doing less (a fixed window of a minute, no delay, nothing given back), with the
// same tenants in the same order, in turn, pair by pair. Nobody is refused: the budget of both is out of reach.

const rounds = 9
const tenants = Array.from({ length: 1000 }, (_, n) => `ten_${n}`)
const budget = 1_000_000_000
const most = 1

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Microseconds a decision, one after the other. */
async function inTurn(decide, count) {
  const start = performance.now()
  for (let n = 0; n < count; n++) await decide(tenants[n % tenants.length])
  return ((performance.now() - start) * 1000) / count
}

/** The same with so many under way at once, as in a busy daemon. */
async function atOnce(decide, count, width = 100) {
  const start = performance.now()
  let next = 0
  const worker = async () => {
    while (next < count) await decide(tenants[next++ % tenants.length])
  }
  await Promise.all(Array.from({ length: width }, worker))
  return ((performance.now() - start) * 1000) / count
}

async function compare(what, run, ours, theirs) {
  await run(ours)
  await run(theirs)
  const ratios = []
  for (let round = 0; round < rounds; round++) {
    const [own, other] = round % 2 ? [await run(ours), await run(theirs)] : [await run(theirs), await run(ours)].reverse()
    ratios.push(own / other)
  }
  const ratio = median(ratios)
  return { what, measured: `${ratio.toFixed(2)} ×`, reach: `at most ${most.toFixed(1)} ×`, ok: ratio <= most }
}

async function inProcess() {
  const store = memoryStore(systemClock)
  const peer = new RateLimiterMemory({ points: budget, duration: 60 })
  const row = await compare(
    'a budget decision in memory against rate-limiter-flexible',
    (decide) => inTurn(decide, 200_000),
    async (tenantId) => store.take(tenantId, budget),
    (tenantId) => peer.consume(tenantId),
  )
  await store.close()
  return row
}

async function onRedis(port) {
  const url = `redis://127.0.0.1:${port}`
  const store = await redisStore({ clock: systemClock, log: silentLogger(), url, deadlineMs: 10_000 })
  const client = createClient({ url })
  await client.connect()
  const peer = new RateLimiterRedis({ storeClient: client, useRedisPackage: true, points: budget, duration: 60 })
  try {
    return await compare(
      'a budget decision on Redis against rate-limiter-flexible, 100 at once',
      (decide) => atOnce(decide, 20_000),
      (tenantId) => store.take(tenantId, budget),
      (tenantId) => peer.consume(tenantId),
    )
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
    return await work(port)
  } finally {
    server.kill('SIGKILL')
  }
}

/** Cost of the limiter, in process and, where there is a Redis, on it. */
export async function limiter() {
  const rows = [await inProcess()]
  const hasRedis = spawnSync('redis-server', ['--version']).status === 0
  if (hasRedis) rows.push(await withRedis(onRedis))
  else console.error('no redis-server here: the limiter was not measured on Redis')
  return rows
}
