import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { api } from '../../src/core/api.ts'
import { type EndpointShape, problemsOf } from '../../src/core/contract/index.ts'
import { systemClock } from '../../src/node/index.ts'
import { createPostgresDatabase } from '../support/databases.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { aKey, anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// Requests of every shape, right and wrong, to every endpoint of a whole daemon on PostgreSQL, which refuses more than SQLite: none may be
// a fault of the daemon, and what is refused is refused with a problem that the endpoint may raise.

type Schema = Record<string, unknown>

const strange = fc.oneof(
  fc.constantFrom('', ' ', '\u0000', 'a\u0000b', '%', '_', "'", '../..', '1e400', '-1', '9'.repeat(30), 'NaN', 'ä', '\ud800', '🦆', 'null'),
  fc.constantFrom('acme', 'host-1', 'ro_0123456789abcdefghjk', 'cmd_0123456789abcdefghjk', 'tenant-box-drift-detection', '__proto__'),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const anything = fc.oneof(strange, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.constant([]), fc.constant({}))

/** Mostly what the schema asks for, and now and then something else. */
function like(schema: Schema | undefined, depth = 0): fc.Arbitrary<unknown> {
  if (!schema || depth > 6) return anything
  return fc.oneof({ weight: 9, arbitrary: fitting(schema, depth) }, { weight: 1, arbitrary: anything })
}

function fitting(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (options) return fc.oneof(...options.map((option) => like(option, depth + 1)))
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  if (schema.type === 'object') return fields(schema, depth)
  if (schema.type === 'array')
    return fc.array(like(schema.items as Schema, depth + 1), { minLength: Number(schema.minItems ?? 0), maxLength: 3 })
  if (schema.type === 'integer' || schema.type === 'number')
    return fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(2 ** 31, 2 ** 53, -1, 1.5, 1e300))
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'null') return fc.constant(null)
  if (typeof schema.pattern === 'string') return fc.oneof(fc.stringMatching(new RegExp(schema.pattern)), strange)
  return strange
}

function fields(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const arbitraries = Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, like(inner, depth + 1)]))
  return fc.record(arbitraries, { requiredKeys: ((schema.required ?? []) as string[]).filter((key) => key in arbitraries) })
}

const schemaOf = (part: z.ZodType | undefined): Schema | undefined =>
  part && (z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' }) as Schema)

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
    const request = fc.record({
      params: fc.array(
        fc.oneof(
          strange,
          fitting(schemaOf(endpoint.params) ?? {}, 0).map((given) => text(Object.values(given ?? {})[0])),
        ),
        {
          minLength: 3,
          maxLength: 3,
        },
      ),
      query: query ? like(query) : fc.constant({}),
      body: endpoint.body ? like(schemaOf(endpoint.body)) : fc.constant(undefined),
    })
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const { status, code } = await call(endpoint, given)
        expect(code, `${name}: ${status}`).not.toBe('INTERNAL')
        if (code) expect([...problemsOf(endpoint), 'NOT_FOUND'], name).toContain(code)
      }),
      { numRuns: 60, seed: 20260105 },
    )
  })

  async function call({ method, path, auth }: EndpointShape, given: { params: string[]; query: unknown; body: unknown }) {
    let at = 0
    const filled = path.replace(/:\w+/g, () => encodeURIComponent(text(given.params[at++ % 3]).slice(0, 300)) || '-')
    const search = new URLSearchParams(Object.entries(given.query ?? {}).map(([key, value]) => [key, text(value)] as [string, string]))
    const response = await fetch(`${daemon.url}${filled}?${search}`, {
      method,
      headers: {
        ...(auth.kind === 'none' ? {} : { authorization: { agent: machine, admin: person, platform: user }[auth.kind] }),
        ...(given.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(given.body === undefined || method === 'GET' ? {} : { body: JSON.stringify(given.body) }),
    })
    const answer = await response.text()
    return { status: response.status, code: response.ok ? undefined : (JSON.parse(answer).code as string) }
  }
})
