import { expect, test } from 'vitest'
import { assertShallow, assertStorable } from '../../../src/daemon/http/validation.ts'

/** CPU time of this process: other programs of the machine do not count. */
function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const count = 500_000
const bodies: Record<string, string> = {
  numbers: `[${'1,'.repeat(count)}1]`,
  'empty objects': `[${'{},'.repeat(count)}{}]`,
}

test.each(Object.entries(bodies))('to check a list of %s costs little more than to parse it', (_, text) => {
  for (const check of [assertShallow, assertStorable]) {
    check(JSON.parse(text)) // warm
    let value: unknown
    const parsing = cpuMs(() => {
      value = JSON.parse(text)
    })
    expect(cpuMs(() => check(value))).toBeLessThan(20 + 2 * parsing)
  }
})

test('what is wrong in a list has its path', () => {
  expect(() => assertStorable({ a: ['x', { b: '\u0000' }] })).toThrow('a.1.b: must not contain the character NUL')
})
