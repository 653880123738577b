import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chatQueue, retryDelayMs, subjectOf, unreachableDelayMs } from '../../../src/core/jobs/index.ts'

test('the retry delay doubles with each attempt, up to an hour', () => {
  expect([1, 2, 11, 12, 40].map(retryDelayMs)).toEqual([2000, 4000, 2_048_000, 3_600_000, 3_600_000])
})

test('an unreachable server is called again within six minutes, however long it has been unreachable', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.string(), (failures, queue) => {
      const ms = unreachableDelayMs(failures, queue)
      expect(ms).toBeGreaterThanOrEqual(Math.min(2000, 1000 * 2 ** failures))
      expect(ms).toBeLessThanOrEqual(6 * 60_000)
      expect(ms).toBe(unreachableDelayMs(failures, queue))
    }),
  )
})

test('three hundred servers that failed together are called again over a minute, not in one second', () => {
  const seconds = Array.from({ length: 300 }, (_, n) => {
    const { queue } = chatQueue({ tenantId: `ten_${n}`, what: 'locks', key: 'usr_1' })
    return Math.floor(unreachableDelayMs(20, queue) / 1000)
  })
  const most = Math.max(...seconds.map((second) => seconds.filter((other) => other === second).length))
  expect(most).toBeLessThan(20)
})

test('only the ids of a payload are shown', () => {
  expect(subjectOf(JSON.stringify({ userId: 'usr_1', password: 'hunter2', chain: 'admin', spaceId: { deep: 'hunter2' } }))).toEqual({
    userId: 'usr_1',
    chain: 'admin',
  })
  expect([subjectOf('no json'), subjectOf('null'), subjectOf('[1]')]).toEqual([{}, {}, {}])
})
