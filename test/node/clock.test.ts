import { expect, test } from 'vitest'
import { systemClock } from '../../src/node/index.ts'

test('a sleep ends when its signal aborts, and does not begin after that', async () => {
  const over = new AbortController()
  const asleep = systemClock.sleep(3_600_000, over.signal)
  over.abort()
  await asleep
  await systemClock.sleep(3_600_000, over.signal)
})

test('a sleep ends by itself, with a signal that never aborts', async () => {
  const startMs = systemClock.monotonicMs()
  await systemClock.sleep(2, new AbortController().signal)
  expect(systemClock.monotonicMs() - startMs).toBeGreaterThanOrEqual(1)
})
