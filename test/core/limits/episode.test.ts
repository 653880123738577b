import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Episode, stepEpisode } from '../../../src/core/limits/index.ts'

const minute = 60_000

/** Looks at these times (above or not): when the operator is told, and when it is over. */
function course(looks: readonly (readonly [number, boolean])[]): string[] {
  let episode: Episode | undefined
  return looks.flatMap(([at, above]) => {
    const step = stepEpisode(episode, above, at)
    episode = step.episode
    return [...(step.raise ? [`tell ${at / minute}`] : []), ...(step.close ? [`over ${at / minute}`] : [])]
  })
}

/** A look each half minute. */
const looks = (fromMinute: number, toMinute: number, above: boolean) =>
  Array.from({ length: (toMinute - fromMinute) * 2 }, (_, n) => [fromMinute * minute + n * 30_000, above] as const)

describe('an episode', () => {
  test('is told when it has lasted ten minutes, and once', () => {
    expect(course([...looks(0, 10, true)])).toEqual([])
    expect(course([...looks(0, 90, true)])).toEqual(['tell 10'])
  })

  test('begins anew after a single look that was not above', () => {
    expect(course([...looks(0, 9, true), [9 * minute, false], ...looks(10, 19, true)])).toEqual([])
  })

  test('that was told ends when it was not above for a minute, and the next one is told again', () => {
    expect(course([...looks(0, 12, true), ...looks(12, 20, false), ...looks(20, 31, true)])).toEqual(['tell 10', 'over 12.5', 'tell 30'])
  })

  test('that was told does not end by a short dip', () => {
    expect(course([...looks(0, 12, true), [12 * minute, false], ...looks(13, 40, true)])).toEqual(['tell 10'])
  })

  test('begins anew when nobody looked for more than a minute', () => {
    expect(course([...looks(0, 9, true), ...looks(11, 20, true)])).toEqual([])
    expect(course([...looks(0, 9, true), ...looks(11, 22, true)])).toEqual(['tell 21'])
  })
})

test('nobody is told of less than ten minutes above, nor twice before it was over', () => {
  const all = fc.array(fc.tuple(fc.integer({ min: 1000, max: 90_000 }), fc.boolean()), { maxLength: 200 })
  fc.assert(
    fc.property(all, (gaps) => {
      let [at, episode, toldAndNotOver] = [0, undefined as Episode | undefined, false]
      let aboveSince: number | undefined
      for (const [gap, above] of gaps) {
        at += gap
        if (above) aboveSince ??= at
        else aboveSince = undefined
        const step = stepEpisode(episode, above, at)
        episode = step.episode
        if (step.raise) expect([toldAndNotOver, at - (aboveSince ?? at) >= 10 * minute]).toEqual([false, true])
        toldAndNotOver = step.raise || (toldAndNotOver && !step.close)
      }
    }),
  )
})
