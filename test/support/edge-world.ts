import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { admin, type Contract, endpoint, open, platform, sse } from '../../src/core/contract/index.ts'
import { type Clock, problem } from '../../src/core/kit/index.ts'
import { loadConfig } from '../../src/daemon/config/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { openEdge } from '../../src/daemon/edge/index.ts'
import { buildApp, makeMetrics, serve } from '../../src/daemon/http/index.ts'
import { openLimits } from '../../src/daemon/limits/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'
import { watchedRevocations } from './loops.ts'
import { raw } from './nginx.ts'
import { aFolder } from './running-daemon.ts'

// The outermost middleware of a daemon with its limits, and a route of each kind behind it.

const ok = z.object({ ok: z.boolean() })
const contract = {
  bootstrap: endpoint({ method: 'GET', path: '/api/platform/v1/bootstrap', auth: platform(), returns: ok, summary: 'Refuses' }),
  login: endpoint({ method: 'POST', path: '/api/auth/v1/login', auth: open, returns: ok, summary: 'Lets in' }),
  shown: endpoint({ method: 'GET', path: '/api/public/v1/shown', auth: open, returns: ok, summary: 'Is public' }),
  stream: endpoint({ method: 'GET', path: '/platform/v1/workflow/events/stream', auth: open, returns: sse(ok), summary: 'Streams' }),
  tenants: endpoint({ method: 'GET', path: '/api/admin/v1/tenants', auth: admin('viewer'), returns: ok, summary: 'For operators' }),
  health: endpoint({ method: 'GET', path: '/healthz', auth: open, returns: ok, summary: 'For machines' }),
  keys: endpoint({ method: 'GET', path: '/.well-known/jwks.json', auth: open, returns: ok, summary: 'For servers' }),
} satisfies Contract

async function* once() {
  yield { event: 'ok', data: { ok: true } }
}

type Given = Readonly<{ env?: Record<string, string> }>

/** One replica. `clock` is the wall clock and the clock of its revocation reads. */
export async function anEdge(db: Db, clock: Clock, { env = {} }: Given = {}) {
  const stopping = new AbortController()
  const log = silentLogger()
  const config = loadConfig({ env: { TENANTRY_DATA_DIR: await aFolder('edge'), ...env } })
  const revocations = await watchedRevocations({ db, clock }, stopping.signal)
  const deps = { config, db, clock, log, draining: stopping.signal }
  const limits = await openLimits({ ...deps, registry: new Registry() })
  const refuse = () => Promise.reject(problem('UNAUTHENTICATED', 'not here'))
  const { trustedProxies } = config
  const { outermost } = openEdge({ ...deps, revocations })
  const yes = () => ({ ok: true })
  const routes = [
    serve(contract.bootstrap, yes),
    serve(contract.login, yes),
    serve(contract.shown, yes),
    serve(contract.stream, once),
    serve(contract.tenants, yes),
    serve(contract.health, yes),
    serve(contract.keys, yes),
  ]
  const authenticate = { admin: refuse, agent: refuse, platform: refuse }
  const rest = { random: systemRandom, metrics: makeMetrics(), limits, outermost, trustedProxies, validateAnswers: true }
  const server = buildApp(routes, { ...deps, authenticate, ...rest }).listen(0, '127.0.0.1')
  await new Promise((ready) => server.once('listening', ready))
  onTestFinished(async () => {
    stopping.abort()
    server.closeAllConnections()
    await limits.close()
  })
  const { port } = server.address() as AddressInfo
  return { config, revocations, ask: (target: string, asked?: Parameters<typeof raw>[2]) => raw(port, target, asked) }
}
