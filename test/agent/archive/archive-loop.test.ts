import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runArchives } from '../../../src/agent/archive/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { silentLogger } from '../../../src/node/index.ts'

test('the agent asks for archives as often as the daemon says, and sooner while it got no answer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-archives-'))
  const clock = manualClock()
  const over = new AbortController()
  const asked: number[] = []
  const exchange = async () => {
    asked.push(clock.monotonicMs() / 1000)
    if (asked.length === 1) throw new Error('the agent has not said hello')
    return { boxes: [], nextInMs: 300_000 }
  }
  const noBoxes = { boxes: { list: async () => [] }, clock, log: silentLogger(), folder } as unknown as Parameters<typeof runArchives>[0]
  const loop = runArchives(noBoxes, exchange, over.signal)
  const second = async () => {
    await expect.poll(() => clock.sleepers()).toBe(1)
    await clock.advance(1000)
  }
  for (let n = 0; n < 320; n++) await second()
  over.abort()
  await loop
  expect(asked).toEqual([0, 15, 315])
  await rm(folder, { recursive: true })
})
