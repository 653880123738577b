import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { problem } from '../../src/core/kit/index.ts'
import { type Authenticators, buildApp, makeMetrics, type Served } from '../../src/daemon/http/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'

type AppDeps = Parameters<typeof buildApp>[1]

/** Callers without an entry in `authenticate` are refused. */
type Given = Pick<AppDeps, 'clock'> &
  Partial<Pick<AppDeps, 'log' | 'metrics' | 'limits' | 'maxBodyMs' | 'pages' | 'draining'>> &
  Readonly<{ authenticate: Partial<Authenticators> }>

const refuse = () => Promise.reject(problem('UNAUTHENTICATED', 'nobody of this kind is known here'))

/** Endpoints mounted like in the daemon, behind a real socket, until the end of the test. Every response is checked against its contract. */
export function servedApp(served: readonly Served[], given: Given) {
  const { listening, close } = open(served, given)
  onTestFinished(close)
  return listening
}

/** The same, closed by the caller: it outlives a test, or stops during one. */
export async function standingApp(served: readonly Served[], given: Given, port = 0) {
  const { listening, close } = open(served, given, port)
  return { ...(await listening), close }
}

function open(
  served: readonly Served[],
  { clock, authenticate, limits, maxBodyMs, pages, draining, log = silentLogger(), metrics = makeMetrics() }: Given,
  wanted = 0,
) {
  const closing = new AbortController()
  const server = buildApp(served, {
    authenticate: { admin: refuse, agent: refuse, ...authenticate },
    clock,
    ...(limits ? { limits } : {}),
    ...(pages ? { pages } : {}),
    ...(maxBodyMs === undefined ? {} : { maxBodyMs }),
    random: systemRandom,
    log,
    metrics,
    trustedProxies: [],
    draining: draining ?? closing.signal,
    validateAnswers: true,
  }).listen(wanted, '127.0.0.1')
  const listening = once(server, 'listening').then(() => {
    const { port } = server.address() as AddressInfo
    return { server, port, url: `http://127.0.0.1:${port}` }
  })
  /** Breaks all connections; pending responses are dropped. */
  const close = async () => {
    const closed = new Promise((done) => server.close(done))
    server.closeAllConnections()
    await closed
    closing.abort()
  }
  return { listening, close }
}
