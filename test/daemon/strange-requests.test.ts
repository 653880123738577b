import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { type EndpointShape, problemsOf } from '../../src/core/contract/index.ts'
import { systemClock } from '../../src/node/index.ts'
import { sentAs } from '../support/ask.ts'
import { createPostgresDatabase } from '../support/databases.ts'
import { fitting, like, schemaOf } from '../support/fitting.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { aKey, anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// Requests of every shape, right and wrong, to every endpoint of a whole daemon on PostgreSQL, which refuses more than SQLite: none may be
// a fault of the daemon, and what is refused is refused with a problem that the endpoint may raise.

const strange = fc.oneof(
  fc.constantFrom('', ' ', '\u0000', 'a\u0000b', '%', '_', "'", '../..', '1e400', '-1', '9'.repeat(30), 'NaN', 'ä', '\ud800', '🦆', 'null'),
  fc.constantFrom('acme', 'host-1', 'ro_0123456789abcdefghjk', 'cmd_0123456789abcdefghjk', 'tenant-box-drift-detection', '__proto__'),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const anything = fc.oneof(strange, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.constant([]), fc.constant({}))

const leaves = { text: strange, anything }

/** Those that end what the others need, or wait long. */
const left = new Set([
  'logout',
  'disableAccount',
  'revokeSession',
  'changePassword',
  'rolloutEvents',
  'revokeHost',
  'confirmTotp',
  'enrolTotp',
])
const endpoints = Object.values(api).flatMap((contract) =>
  Object.entries(contract as Record<string, EndpointShape>).filter(([name, { returns }]) => !left.has(name) && !('event' in returns)),
)

/** JSON.stringify writes no value that is so deep. */
const deep = '['.repeat(5_000) + ']'.repeat(5_000)
const deepHere = '(deep)'

const text = (value: unknown) => (typeof value === 'string' ? Buffer.from(value).toString() : (JSON.stringify(value) ?? 'undefined'))

describe('whatever is asked', () => {
  let daemon: RunningDaemon
  let person = ''
  let machine = ''
  let user = ''

  beforeAll(async () => {
    const env = { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey(), TENANTRY_AGENTS_LONG_POLL_MS: '1' }
    // Refused logins are held back for up to a second each.
    const sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(ms > 500 && ms <= 1000 ? ms / 50 : ms, signal)
    const clock = { ...systemClock, sleep, monotonicMs: () => systemClock.monotonicMs() * 1000 }
    daemon = await aRunningDaemon({ env, clock })
    person = await loggedIn(daemon, 'admin')
    machine = (await anAgent(daemon, person, 'host-1')).authorization
    user = await aPlatformUser(daemon, { tenant: 'acme', roles: ['tenant-admin', 'store-reviewer'] })
    await clientOf(daemon.url, person).rollouts.createRollout({ body: {} })
  })
  afterAll(() => daemon.close())

  test.each(endpoints)('%s', async (name, endpoint) => {
    const query = schemaOf(endpoint.query)
    const body = endpoint.body ?? endpoint.multipart?.fields
    const request = fc.record({
      params: fc.array(
        fc.oneof(
          strange,
          fitting(leaves, schemaOf(endpoint.params) ?? {}).map((given) => text(Object.values(given ?? {})[0])),
        ),
        {
          minLength: 3,
          maxLength: 3,
        },
      ),
      query: query ? like(leaves, query) : fc.constant({}),
      body: body ? like(leaves, schemaOf(body)) : fc.constant(undefined),
    })
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const { status, code } = await call(endpoint, given)
        expect(code, `${name}: ${status}`).not.toBe('INTERNAL')
        if (code) expect([...problemsOf(endpoint), 'NOT_FOUND'], name).toContain(code)
      }),
      { numRuns: 12, seed: 20260105 },
    )
  })

  // A record of values without a schema is parsed one level deep; what follows it must bear the rest.
  test.each(endpoints.filter(([, { body }]) => body))('%s, with a field that is nested 5,000 levels deep', async (name, endpoint) => {
    const fields = Object.keys(schemaOf(endpoint.body)?.properties ?? {})
    for (const field of fields.length > 0 ? fields : ['any']) {
      const body = { [field]: { a: deepHere } }
      const { status, code } = await call(endpoint, { params: ['acme', 'acme', 'acme'], query: {}, body })
      expect(code, `${name}, ${field}: ${status}`).not.toBe('INTERNAL')
      if (code) expect([...problemsOf(endpoint), 'NOT_FOUND'], name).toContain(code)
    }
  })

  async function call(endpoint: EndpointShape, given: { params: string[]; query: unknown; body: unknown }) {
    const { method, path, auth } = endpoint
    const sent = given.body === undefined ? { headers: {} } : sentAs(endpoint, given.body)
    let at = 0
    const filled = path.replace(/:\w+/g, () => encodeURIComponent(text(given.params[at++ % 3]).slice(0, 300)) || '-')
    const search = new URLSearchParams(Object.entries(given.query ?? {}).map(([key, value]) => [key, text(value)] as [string, string]))
    const response = await fetch(`${daemon.url}${filled}?${search}`, {
      method,
      headers: {
        ...(auth.kind === 'none'
          ? {}
          : { authorization: { agent: machine, admin: person, platform: user, automation: 'none', vendor: 'none' }[auth.kind] }),
        ...sent.headers,
      },
      ...('body' in sent ? { body: typeof sent.body === 'string' ? sent.body.replace(`"${deepHere}"`, deep) : sent.body } : {}),
    })
    const answer = await response.text()
    return { status: response.status, code: response.ok ? undefined : (JSON.parse(answer).code as string) }
  }
})
