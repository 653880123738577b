import { expect, test } from 'vitest'
import { z } from 'zod'
import { empty, endpoint, open } from '../../../src/core/contract/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { importLimits } from '../../../src/core/users/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { assertShallow, assertStorable } from '../../../src/daemon/http/validation.ts'
import { servedApp } from '../../support/served-app.ts'

/** CPU time of this process: other programs of the machine do not count. */
function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Of some rounds: memory is collected during any of them, and the first ones are not compiled. */
const leastMs = (work: () => unknown): number => Math.min(...Array.from({ length: 5 }, () => cpuMs(work)))

const count = 500_000
const bodies: Record<string, string> = {
  numbers: `[${'1,'.repeat(count)}1]`,
  'empty objects': `[${'{},'.repeat(count)}{}]`,
}

test.each(Object.entries(bodies))('to check a list of %s costs little more than to parse it', (_, text) => {
  for (const check of [assertShallow, assertStorable]) {
    let value: unknown
    const parsing = leastMs(() => {
      value = JSON.parse(text)
    })
    expect(leastMs(() => check(value))).toBeLessThan(20 + 2 * parsing)
  }
})

test('what is wrong in a list has its path', () => {
  expect(() => assertStorable({ a: ['x', { b: '\u0000' }] })).toThrow('a.1.b: must not contain the character NUL')
})

test('an object has at most as many fields as the longest import has passwords', () => {
  const wide = (fields: number) => ({ body: [Object.fromEntries(Array.from({ length: fields }, (_, n) => [`!${n}`, 1]))] })
  expect(() => assertShallow(wide(importLimits.lines))).not.toThrow()
  expect(() => assertShallow(wide(importLimits.lines + 1))).toThrow('body.0: must have at most 10000 fields, not 10001')
})

test.each([
  ['of anyone', open],
  ['of an agent', { kind: 'agent' }],
] as const)('a body %s with 250,000 wrong keys is refused before its schema reads them', async (_, auth) => {
  let read = 0
  const key = z.string().refine(() => ++read < 0)
  const body = z.strictObject({ values: z.record(key, z.unknown()) })
  const shared = { auth, body, bodyLimit: 8e6, returns: empty, audit: { none: 'a test' }, summary: 'Takes keys' } as const
  const agent = async () => ({ kind: 'agent', hostId: 'h1', name: 'host-1', instanceId: 'one' }) as never
  const served = [serve(endpoint({ method: 'POST', path: '/it', ...shared }), () => undefined)]
  const { url } = await servedApp(served, { authenticate: { agent }, clock: manualClock() })
  const text = `{"values":{${Array.from({ length: 250_000 }, (_, n) => `"!${n}":1`).join()}}}`
  const answer = await fetch(`${url}/it`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text })
  expect(((await answer.json()) as { message: string }).message).toBe('values: must have at most 10000 fields, not 250000')
  expect(read).toBe(0)
})
