// A process that holds 5,000 streams and publishes events to them, with the daemon's code or with a plain write loop.
// Sends its port. For each round it publishes the events, and once all clients have received them it sends its CPU time
// from the first to the last byte, and the memory of the streams.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { eventsRoutes, makeEventBus, makeEventStreams, recordEvent } from '../dist/daemon/events/index.js'
import { buildApp, makeMetrics } from '../dist/daemon/http/index.js'
import { silentLogger, systemClock, systemRandom } from '../dist/node/index.js'
import { sized } from './size.js'

const streams = sized(5000, 50)
const [kind, ...rounds] = process.argv.slice(2)

const listening = (server) =>
  new Promise((ready) => {
    server.listen(0, '127.0.0.1', 4096, () => ready(server.address().port))
  })

async function plain() {
  const open = []
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': open\n\n')
    open.push(response)
  })
  const data = JSON.stringify({ type: 'space.changed', at: new Date().toISOString(), ids: { spaceId: 's1' } })
  const publish = async (n) => {
    const message = `id: ${n}\nevent: space.changed\ndata: ${data}\n\n`
    for (const response of open) response.write(message)
  }
  return { port: await listening(server), publish }
}

async function ours() {
  const { db } = openDatabase('sqlite::memory:')
  await migrate(db)
  const log = silentLogger()
  /** @returns {any} */
  const principalOf = (authorization) => {
    const { userId } = JSON.parse(Buffer.from(authorization.split('.')[1], 'base64url').toString())
    return {
      kind: 'user',
      userId,
      matrixUserId: `@${userId}:chat.example`,
      tenantId: 't1',
      tenantSlug: 't1',
      sessionId: `s${userId}`,
      roles: [],
      capabilities: [],
    }
  }
  const authenticate = async (authorization) => principalOf(authorization)
  const revocations = { position: () => 0, fresh: () => true, readNow: async () => undefined, onRevoked: () => undefined }
  const deps = {
    ...{ db, clock: systemClock, random: systemRandom, log, replica: 'bench' },
    ...{ membersOf: async () => new Map(), privateOf: async () => new Set(), revocations, authenticate },
  }
  const bus = makeEventBus(deps)
  const all = makeEventStreams({ ...deps, bus })
  const app = buildApp(eventsRoutes({ ...deps, streams: all, tenantIdOf: async () => undefined }), {
    ...deps,
    authenticate: /** @type {any} no other kind of caller */ ({ platform: authenticate }),
    metrics: makeMetrics(),
    draining: new AbortController().signal,
    trustedProxies: [],
  })
  const publish = async () => {
    /** @type {any} */
    const event = { tenantId: 't1', type: 'space.created', payload: { spaceId: 's1', name: 'Class 3b' }, audience: 'tenant' }
    await db.transaction().execute((tx) => recordEvent(tx, systemClock, event))
    await bus.poll()
    while (!bus.isIdle()) await new Promise(setImmediate)
  }
  return { port: await listening(createServer(app)), publish }
}

const settled = async () => {
  await wait(500)
  globalThis.gc()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, used: heapUsed + external }
}

const { port, publish } = await (kind === 'plain' ? plain() : ours())
const before = await settled()
process.send({ port })
let published = 0
for (const events of rounds) {
  await once(process, 'message')
  const after = await settled()
  const begun = process.cpuUsage()
  for (let n = 0; n < Number(events); n++) {
    await publish(++published)
    await wait(20)
  }
  await once(process, 'message')
  const { user, system } = process.cpuUsage(begun)
  process.send({ cpuMs: (user + system) / 1000, kibPerStream: Math.max(after.rss - before.rss, after.used - before.used) / 1024 / streams })
}
