import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Plan } from '../../src/core/boxes/index.ts'
import { type Contract, endpoint, open, platform, sse } from '../../src/core/contract/index.ts'
import { type Clock, type PlatformPrincipal, problem } from '../../src/core/kit/index.ts'
import { loadConfig } from '../../src/daemon/config/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { buildApp, makeMetrics, serve } from '../../src/daemon/http/index.ts'
import { openLimits } from '../../src/daemon/limits/index.ts'
import { createTenant } from '../../src/daemon/tenants/index.ts'
import { type Logger, silentLogger, systemRandom } from '../../src/node/index.ts'

// The limits before a daemon's whole HTTP side, with a route of each kind and tokens that name their tenant.

export const aTenant = async (db: Db, clock: Clock, slug: string, plan: Plan = 'light'): Promise<string> =>
  db.transaction().execute(async (tx) => {
    const deps = { clock, random: systemRandom, windows: { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } } }
    const tenant = await createTenant(deps, tx, { slug, name: `The ${slug}`, plan, chatDomain: `chat.${slug}.example` })
    return tenant.id
  })

const contract = {
  work: endpoint({
    method: 'POST',
    path: '/api/platform/v1/work',
    auth: platform(),
    body: z.strictObject({ n: z.number() }),
    returns: z.object({ n: z.number() }),
    summary: 'Counts',
  }),
  manage: endpoint({
    method: 'GET',
    path: '/api/platform/v1/manage',
    auth: platform('manageUsers'),
    returns: z.object({ ok: z.boolean() }),
    summary: 'No user here has the capability',
  }),
  login: endpoint({
    method: 'POST',
    path: '/api/auth/v1/login',
    auth: open,
    body: z.strictObject({ tenant: z.string(), good: z.boolean() }),
    returns: z.object({ ok: z.boolean() }),
    summary: 'Knows the tenant when it is done',
  }),
  stream: endpoint({
    method: 'GET',
    path: '/api/platform/v1/stream',
    auth: platform(),
    returns: sse(z.object({})),
    summary: 'A stream that ends at once',
  }),
  page: endpoint({ method: 'GET', path: '/page', auth: open, returns: z.object({ ok: z.boolean() }), summary: 'For anyone' }),
  signed: endpoint({
    ...{ method: 'POST', path: '/api/webhooks/stripe', auth: open, unread: true },
    ...{ returns: z.object({ ok: z.boolean() }), summary: 'Signed' },
  }),
  health: endpoint({ method: 'GET', path: '/healthz', auth: open, returns: z.object({ ok: z.boolean() }), summary: 'Not limited' }),
} satisfies Contract

const principal = (tenantId: string) => ({
  kind: 'user',
  userId: 'usr_1',
  matrixUserId: '@anna:chat.example',
  tenantId,
  tenantSlug: 'x',
  sessionId: 'ses_1',
  roles: [],
  capabilities: [],
})

type Given = Readonly<{ env?: Record<string, string>; log?: Logger; trustedProxies?: string[] }>

/** One replica: its URL, its counters, and its shutdown. */
export async function aReplica(db: Db, clock: Clock, { env = {}, log = silentLogger(), trustedProxies = [] }: Given = {}) {
  const stopping = new AbortController()
  const config = loadConfig({ env })
  const registry = new Registry()
  const limits = await openLimits({ config, db, clock, log, registry, draining: stopping.signal })
  let served = 0
  const ended = new Set<string>()
  const routes = [
    serve(contract.work, ({ body }) => {
      served++
      return body
    }),
    serve(contract.login, ({ body, setTenant }) => {
      setTenant(body.tenant)
      if (!body.good) throw problem('LOGIN_FAILED', 'wrong')
      return { ok: true }
    }),
    serve(contract.manage, () => ({ ok: true })),
    serve(contract.stream, async function* () {}),
    serve(contract.page, () => ({ ok: true })),
    serve(contract.signed, () => ({ ok: true })),
    serve(contract.health, () => ({ ok: true })),
  ]
  const refuse = () => Promise.reject(problem('UNAUTHENTICATED', 'not here'))
  const authenticate = {
    admin: refuse,
    agent: refuse,
    platform: async (authorization: string | undefined) =>
      authorization?.startsWith('Bearer ten_') && !ended.has(authorization.slice(7))
        ? (principal(authorization.slice(7)) as unknown as PlatformPrincipal)
        : refuse(),
  }
  const deps = {
    authenticate,
    clock,
    random: systemRandom,
    log,
    metrics: makeMetrics(),
    limits,
    draining: stopping.signal,
    trustedProxies,
  }
  const server = buildApp(routes, { ...deps, validateAnswers: true }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const close = async () => {
    stopping.abort()
    server.closeAllConnections()
    await limits.close()
  }
  onTestFinished(close)
  const port = (server.address() as AddressInfo).port
  return {
    limits,
    stopping,
    served: () => served,
    /** Refuses all calls of the tenant from now on. */
    endSessions: (tenantId: string) => void ended.add(tenantId),
    metric: async (name: string) => (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => !line.startsWith('#')),
    work: (tenantId: string, more: Partial<Sent> = {}) =>
      send(port, { path: '/api/platform/v1/work', body: '{"n":1}', headers: { authorization: `Bearer ${tenantId}` }, ...more }),
    login: (tenant: string, { good = true, forwardedFor }: { good?: boolean; forwardedFor?: string } = {}) =>
      send(port, {
        path: '/api/auth/v1/login',
        body: JSON.stringify({ tenant, good }),
        headers: forwardedFor ? { 'x-forwarded-for': forwardedFor } : {},
      }),
    stream: (token: string) =>
      send(port, {
        path: '/api/platform/v1/stream',
        method: 'GET',
        body: '',
        headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      }),
    signed: () => send(port, { path: '/api/webhooks/stripe', body: '', headers: {} }),
    get: (path: string, headers: Record<string, string> = {}) => send(port, { path, method: 'GET', body: '', headers }),
  }
}

export type Replica = Awaited<ReturnType<typeof aReplica>>

type Sent = Readonly<{ path: string; method?: string; body: string; headers: Record<string, string>; signal?: AbortSignal }>
type Answer = Readonly<{ status: number; headers: Record<string, string | undefined>; code: string | undefined; text: string }>

/** A separate connection per call, so that calls do not wait for each other. */
const send = (port: number, { path, method = 'POST', body, headers, signal }: Sent) =>
  new Promise<Answer>((resolve, reject) => {
    const asked = request(
      {
        ...{ host: '127.0.0.1', port, path, method, agent: false },
        headers: { ...(body === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }), ...headers },
        ...(signal ? { signal } : {}),
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (more) => {
          text += more
        })
        answer.on('end', () => {
          const { code } = text.startsWith('{') ? (JSON.parse(text) as { code?: string }) : { code: undefined }
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers as Answer['headers'], code, text })
        })
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })

/** The values of the headers: budget, remaining, delay. */
export const said = ({ headers }: Answer) => [
  headers['x-ratelimit-limit'],
  headers['x-ratelimit-remaining'],
  headers['x-ratelimit-slowdown'],
]
