import { expect, test } from 'vitest'
import { manualClock } from '../../../../src/core/kit/index.ts'
import { Turns } from '../../../../src/daemon/modules/runs/turns.ts'

test('many tenants with modules that hang leave places to the others', async () => {
  const clock = manualClock()
  const ends = new Map<string, () => void>()
  const served: string[] = []
  const deliver = (tenantId: string): Promise<boolean> => {
    if (tenantId.startsWith('hangs')) return new Promise((resolve) => ends.set(tenantId, () => resolve(true)))
    served.push(tenantId)
    return Promise.resolve(false)
  }
  const turns = new Turns(clock, deliver, new AbortController().signal)
  for (let n = 0; n < 16; n++) turns.notify(`hangs-${n}`)
  turns.notify('linden')
  expect([ends.size, served]).toEqual([16, []])

  const first = [...ends.values()]
  ends.clear()
  await clock.advance(2_000)
  for (const end of first) end()
  await expect.poll(() => served).toEqual(['linden'])
  // All of them have more, and hang again.
  expect(ends.size).toBe(8)
  turns.notify('ahorn')
  expect(served).toEqual(['linden', 'ahorn'])
})
