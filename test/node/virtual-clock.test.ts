import { mkdtemp, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { virtualClock, yieldUntilIdle } from '../../src/node/index.ts'

test('does not move by itself, and wakes due sleepers in the order of their time', async () => {
  const clock = virtualClock('2026-01-05T02:00:00.000Z')
  const woken: string[] = []
  for (const [name, ms] of [
    ['late', 3000],
    ['first', 1000],
    ['second', 2000],
  ] as const)
    void clock.sleep(ms).then(() => woken.push(`${name} at ${clock.monotonicMs()}`))
  await yieldUntilIdle()
  expect([woken, clock.nextDueMs(), clock.monotonicMs()]).toEqual([[], 1000, 0])
  clock.advanceTo(2000)
  await yieldUntilIdle()
  expect(woken).toEqual(['first at 2000', 'second at 2000'])
  expect(clock.nextDueMs()).toBe(3000)
  expect(clock.now().toISOString()).toBe('2026-01-05T02:00:02.000Z')
})

test('never moves backwards', () => {
  const clock = virtualClock('2026-01-05T02:00:00.000Z')
  clock.advanceTo(500)
  clock.advanceTo(100)
  expect(clock.monotonicMs()).toBe(500)
})

test('counts whole milliseconds, so that a loop over a fraction of one ends', async () => {
  const clock = virtualClock('2026-01-05T02:00:00.000Z')
  clock.advanceTo(50_000)
  void clock.sleep(1e-12)
  expect(clock.nextDueMs()).toBe(50_001)
  void clock.sleep(1000 / 3)
  clock.advanceTo(50_334)
  expect([clock.monotonicMs(), clock.nextDueMs()]).toEqual([50_334, undefined])
})

test('an aborted sleeper wakes at once and is removed; a sleep of 0 ms ends at once', async () => {
  const clock = virtualClock('2026-01-05T02:00:00.000Z')
  const aborted = new AbortController()
  const sleeping = clock.sleep(1000, aborted.signal)
  aborted.abort()
  await sleeping
  await clock.sleep(0)
  expect(clock.nextDueMs()).toBeUndefined()
})

test('idle is who waits for no disk: a chain of writes is through', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-idle-'))
  let written = 0
  const write = async () => {
    for (let n = 0; n < 20; n++) {
      const file = await open(join(folder, `${n}`), 'w')
      await file.write('x')
      await file.sync()
      await file.close()
      written++
    }
  }
  void write()
  await yieldUntilIdle()
  expect(written).toBe(20)
})
