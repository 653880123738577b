import { createServer } from 'node:net'
import { startDaemon, wait } from './daemon-process.js'
import { seedModules } from './module-seed.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const ports = { daemon: 18_471, service: 18_472 }
const seconds = Number(process.env.TENANTRY_SOAK_SECONDS ?? sized(20, 2))
const school = { tenants: 3, usersPerTenant: 20, spacesPerUser: 1, tasksPerUser: 1 }
const most = 250
const callers = { A: 8, B: 6, bootstrap: 4 }
const noLimit = '10000000'
const settings = { TENANTRY_LIMITS_DEDICATED: noLimit, TENANTRY_LIMITS_PER_ADDRESS: noLimit }
const api = '/api/platform/v1'
const ownTenant = `ten_${'0'.repeat(26)}`

/** What a route of the module does, by its path. */
const code = `
const deeds = {
  log: (svc) => { const x = 'x'.repeat(8e6); for (let n = 0; n < 20; n++) svc.log(x) },
  allocate: () => { const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length)) },
  text: () => { let x = 'xy'; for (;;) x += x },
  loop: () => { for (;;); },
  wait: () => new Promise(() => undefined),
  calls: (svc) => Promise.all(Array.from({ length: 200 }, (_, n) => svc.data.put('k' + n, 'x'.repeat(60_000)))),
  throw: () => { throw new Error('x'.repeat(1e6)) },
  answer: () => ({ status: 200, body: 'x'.repeat(1e6) }),
  well: () => ({ status: 200, body: { ok: true } }),
}
export const handle = (request, svc) => deeds[request.path.slice(1)](svc)
export const on = { 'space.created': (event, svc) => deeds.log(svc) }
`
const deeds = ['log', 'allocate', 'text', 'loop', 'wait', 'calls', 'throw', 'answer', 'well']

/** What a service answers; then it may hang up. */
const answers = [
  '',
  'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n',
  `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(5000)}\r\n`,
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged',
  'not HTTP\r\n\r\n',
]
const oneOf = (list) => list[Math.floor(Math.random() * list.length)]

function hostileService() {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', () => {
        socket.write(oneOf(answers))
        if (Math.random() < 0.7) setTimeout(() => socket.destroy(), Math.random() * 300)
      })
  })
  server.listen(ports.service, '127.0.0.1')
  return server
}

/** Not longer than the bench: undici does not end what it has begun to send. @param {() => boolean} isRunning */
async function* endless(isRunning) {
  while (isRunning()) {
    yield Buffer.from('GET / HTTP/1.1\r\n\r\n')
    await wait(20)
  }
}

/** Bodies as callers send them who mean harm. */
const bodies = [
  { method: 'GET' },
  { method: 'DELETE' },
  { method: 'POST', body: 'x'.repeat(100_000) },
  { method: 'DELETE', duplex: 'half', body: endless },
]

/** Bootstrap of other tenants while a tenant's users call modules that log, allocate, loop and hang up, at random moments. */
export async function hostileModules() {
  const service = hostileService()
  let users = []
  const seed = async (made) => {
    users = await seedSchools({ databaseUrl: made.databaseUrl, dataDir: `${made.folder}/data` }, school)
    await seedModules(made, [
      { id: 'hostile', code, tenantIds: [ownTenant] },
      { id: 'hostile-service', upstream: `http://127.0.0.1:${ports.service}`, tenantIds: [ownTenant] },
    ])
  }
  const daemon = await startDaemon(ports.daemon, { seed, settings })
  const [hostile, others] = [users.slice(0, school.usersPerTenant), users.slice(school.usersPerTenant)]
  let untilMs = performance.now() + Math.min(seconds / 4, 30) * 1000
  const isRunning = () => performance.now() < untilMs
  const counts = { hostile: 0, hungUp: 0, failed: 0 }
  let latencies = []
  const at = (share) => Math.round(latencies.sort((a, b) => a - b)[Math.floor(latencies.length * share)])
  /** @param {string} path @param {any} [options] */
  const call = async (path, { body, ...init } = {}) => {
    const hangUp = AbortSignal.timeout(Math.ceil(Math.random() * 900))
    const more = body === undefined ? {} : { body: typeof body === 'function' ? body(isRunning) : body }
    counts.hostile += 1
    await fetch(`${daemon.url}${api}/module-api/${path}`, {
      ...{ ...init, ...more, signal: hangUp },
      headers: { authorization: oneOf(hostile) },
    })
      .then((answer) => answer.arrayBuffer())
      .catch(() => {
        counts.hungUp += 1
      })
  }
  const attack = async (act) => {
    while (isRunning()) await act()
  }
  const measure = async () => {
    while (isRunning()) {
      const begunMs = performance.now()
      const isOk = await fetch(`${daemon.url}${api}/bootstrap`, { headers: { authorization: oneOf(others) } }).then(
        async (answer) => answer.ok && (await answer.arrayBuffer()).byteLength > 0,
        () => false,
      )
      if (!isOk) counts.failed += 1
      latencies.push(performance.now() - begunMs)
      await wait(20)
    }
  }
  const many = (count, act) => Array.from({ length: count }, act)
  try {
    await Promise.all(many(callers.bootstrap, measure))
    const alone = `${at(0.99)} ms`
    latencies = []
    untilMs = performance.now() + seconds * 1000
    await Promise.all([
      ...many(callers.A, () => attack(() => call(`hostile/${oneOf(deeds)}`))),
      ...many(callers.B, () => attack(() => call('hostile-service/x', oneOf(bodies)))),
      ...many(callers.bootstrap, measure),
    ])
    process.kill(daemon.pid, 0) // throws if it has ended
    const [p50, p99, max] = [at(0.5), at(0.99), at(1 - 1 / latencies.length)]
    console.error(`p50 ${p50}, max ${max} ms, quiet p99 ${alone}; ${counts.hostile} hostile calls of which ${counts.hungUp} ended early`)
    return [
      {
        what: `bootstrap beside hostile modules for ${seconds} s, p99`,
        measured: `${p99} ms, ${counts.failed} of ${latencies.length} failed`,
        reach: `at most ${most} ms, none`,
        ok: p99 <= most && counts.failed === 0,
      },
    ]
  } finally {
    daemon.close()
    service.close()
  }
}
