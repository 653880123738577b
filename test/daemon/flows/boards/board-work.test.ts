import { expect, test } from 'vitest'
import { manualClock } from '../../../../src/core/kit/index.ts'
import { inSlices } from '../../../../src/daemon/flows/boards/board-work.ts'

test('computations take turns with each other and with other work, in slices of 20 ms', async () => {
  let ms = 0
  const clock = { ...manualClock(), monotonicMs: () => ms }
  const done: string[] = []
  function* steps(name: string) {
    for (let n = 1; n <= 4; n++) {
      done.push(`${name}${n}`)
      ms += 10
      yield
    }
    return name
  }
  setImmediate(() => setImmediate(() => done.push('other')))
  expect(await Promise.all(['a', 'b'].map((name) => inSlices({ clock }, steps(name))))).toEqual(['a', 'b'])
  expect(done.indexOf('other')).toBeLessThan(6)
  expect(done.filter((one) => one !== 'other')).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'a4', 'b3', 'b4'])
})
