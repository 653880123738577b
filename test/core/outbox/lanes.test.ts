import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aboutOf, awayMs, inChatQueue, restMs } from '../../../src/core/outbox/index.ts'

test('what fails waits longer each time, up to an hour', () => {
  expect([1, 2, 11, 12, 40].map(restMs)).toEqual([2000, 4000, 2_048_000, 3_600_000, 3_600_000])
})

test('a server that is away is asked again within six minutes, however long it was away', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.string(), (failures, queue) => {
      const ms = awayMs(failures, queue)
      expect(ms).toBeGreaterThanOrEqual(Math.min(2000, 1000 * 2 ** failures))
      expect(ms).toBeLessThanOrEqual(6 * 60_000)
      expect(ms).toBe(awayMs(failures, queue))
    }),
  )
})

test('three hundred that went away together come back over a minute, not in one second', () => {
  const seconds = Array.from({ length: 300 }, (_, n) => {
    const { queue } = inChatQueue({ tenantId: `ten_${n}`, what: 'locks', key: 'usr_1' })
    return Math.floor(awayMs(20, queue) / 1000)
  })
  const most = Math.max(...seconds.map((second) => seconds.filter((other) => other === second).length))
  expect(most).toBeLessThan(20)
})

test('of a payload only names of things are shown', () => {
  expect(aboutOf(JSON.stringify({ userId: 'usr_1', password: 'hunter2', chain: 'admin', spaceId: { deep: 'hunter2' } }))).toEqual({
    userId: 'usr_1',
    chain: 'admin',
  })
  expect([aboutOf('no json'), aboutOf('null'), aboutOf('[1]')]).toEqual([{}, {}, {}])
})
