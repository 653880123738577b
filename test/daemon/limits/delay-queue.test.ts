import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { delayQueue } from '../../../src/daemon/limits/delay-queue.ts'

function aRoom(size: { inAll: number; forOne: number }) {
  const [clock, draining] = [manualClock(), new AbortController()]
  const room = delayQueue({ clock, draining: draining.signal }, size)
  const hold = (key: string, ms = 1000, left = new AbortController()) => room.hold(key, ms, left)
  return { clock, draining, room, hold }
}

test('one tenant takes no more than its share, so that others find a place', async () => {
  const { clock, room, hold } = aRoom({ inAll: 3, forOne: 2 })
  expect([hold('anna'), hold('anna')].map(Boolean)).toEqual([true, true])
  expect(hold('anna')).toBeUndefined()
  expect(hold('bert')).toBeDefined()
  expect(hold('carl')).toBeUndefined()
  expect(room.held()).toBe(3)
  await clock.advance(1000)
  expect(room.held()).toBe(0)
  expect(hold('anna')).toBeDefined()
})

test('each waits its own time, with one timer', async () => {
  const { clock, hold } = aRoom({ inAll: 10, forOne: 10 })
  const over: string[] = []
  void hold('anna', 20)?.then(() => over.push('short'))
  void hold('anna', 2000)?.then(() => over.push('long'))
  expect(clock.sleepers()).toBe(2)
  await clock.advance(20)
  expect(over).toEqual(['short'])
  await clock.advance(1980)
  expect(over).toEqual(['short', 'long'])
})

test('who leaves makes room at once', async () => {
  const { clock, hold, room } = aRoom({ inAll: 1, forOne: 1 })
  const left = new AbortController()
  const held = hold('anna', 1000, left)
  left.abort()
  await held
  expect([room.held(), clock.sleepers()]).toEqual([0, 0])
  expect(hold('bert')).toBeDefined()
})

test('when the daemon drains nobody waits any longer', async () => {
  const { draining, hold } = aRoom({ inAll: 5, forOne: 5 })
  const held = [hold('anna', 60_000), hold('bert', 60_000)]
  draining.abort()
  await Promise.all([...held, hold('carl', 60_000)])
})
