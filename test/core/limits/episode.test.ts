import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Episode, stepEpisode } from '../../../src/core/limits/index.ts'

const minute = 60_000

/** Samples at these times (above or not): the notifications, and the end. */
function course(looks: readonly (readonly [number, boolean])[]): string[] {
  let episode: Episode | undefined
  return looks.flatMap(([at, above]) => {
    const step = stepEpisode(episode, above, at)
    episode = step.episode
    return [...(step.raise ? [`tell ${at / minute}`] : []), ...(step.close ? [`over ${at / minute}`] : [])]
  })
}

/** One sample every half minute. */
const looks = (fromMinute: number, toMinute: number, above: boolean) =>
  Array.from({ length: (toMinute - fromMinute) * 2 }, (_, n) => [fromMinute * minute + n * 30_000, above] as const)

describe('an episode', () => {
  test('notifies once, after ten minutes', () => {
    expect(course([...looks(0, 10, true)])).toEqual([])
    expect(course([...looks(0, 90, true)])).toEqual(['tell 10'])
  })

  test('starts over after a single sample below', () => {
    expect(course([...looks(0, 9, true), [9 * minute, false], ...looks(10, 19, true)])).toEqual([])
  })

  test('that notified ends after a minute below, and the next one notifies again', () => {
    expect(course([...looks(0, 12, true), ...looks(12, 20, false), ...looks(20, 31, true)])).toEqual(['tell 10', 'over 12.5', 'tell 30'])
  })

  test('that notified does not end with a short dip', () => {
    expect(course([...looks(0, 12, true), [12 * minute, false], ...looks(13, 40, true)])).toEqual(['tell 10'])
  })

  test('starts over after more than a minute without samples', () => {
    expect(course([...looks(0, 9, true), ...looks(11, 20, true)])).toEqual([])
    expect(course([...looks(0, 9, true), ...looks(11, 22, true)])).toEqual(['tell 21'])
  })
})

test('less than ten minutes above never notify, and no episode notifies twice', () => {
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
