import { expect, test } from 'vitest'
import { backoffMs, retry, spreadMs } from '../../../src/agent/channel/retry.ts'
import { seededRandom } from '../../../src/agent/simulated/index.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'

const agents = 1000
/** The daemon's answer to each of a thousand hellos. */
const reconnectSpreadMs = agents * 10

/** How many hellos came in each second after the daemon was back, when all agents lost it in one moment. */
async function hellosPerSecond(awayMs: number): Promise<number[]> {
  const clock = manualClock()
  const { signal } = new AbortController()
  const back = clock.monotonicMs() + awayMs
  const heard: number[] = []
  const hello = async () => {
    if (clock.monotonicMs() < back) throw problem('UNREACHABLE', 'no listener')
    heard.push(clock.monotonicMs() - back)
  }
  const comeBack = async (nth: number) => {
    const random = seededRandom(`agent ${nth}`)
    await clock.sleep(backoffMs(random, 1) + spreadMs(random, reconnectSpreadMs))
    await retry({ clock, random }, hello, { signal, isFinal: () => false })
  }
  const all = Promise.all(Array.from({ length: agents }, (_, nth) => comeBack(nth)))
  while (heard.length < agents) await clock.advance(100)
  await all
  const seconds: number[] = []
  for (const ms of heard) seconds[Math.floor(ms / 1000)] = (seconds[Math.floor(ms / 1000)] ?? 0) + 1
  return Array.from(seconds, (count) => count ?? 0)
}

test.each([
  ['a restart of one second', 1_000, 15],
  ['a restart of twenty seconds', 20_000, 35],
  ['an outage of five minutes', 300_000, 35],
])('after %s a thousand agents come back one after the other, and all of them soon', async (_, awayMs, withinSeconds) => {
  const perSecond = await hellosPerSecond(awayMs)
  expect(Math.max(...perSecond)).toBeLessThanOrEqual(200)
  expect(perSecond.length).toBeLessThanOrEqual(withinSeconds)
})
