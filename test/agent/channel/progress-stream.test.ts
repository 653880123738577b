import { expect, test } from 'vitest'
import { progressStream } from '../../../src/agent/channel/run-command.ts'
import type { Progress } from '../../../src/core/boxes/index.ts'
import { addSteps } from '../../../src/core/hosts/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

const start = '2026-01-05T02:00:00.000Z'

/** A stream to a daemon that is there or not, and all that reached it. */
function aStream() {
  const clock = manualClock(start)
  const sent: Progress[] = []
  const daemon = { away: false }
  const stream = progressStream(clock, async (progress) => {
    if (daemon.away) throw new Error('away')
    sent.push(...progress)
  })
  return { clock, sent, daemon, stream }
}

test('of what one step says meanwhile the last word stands, and still it counts from when it began', async () => {
  const { clock, sent, stream } = aStream()
  stream.report({ step: 'pull', percent: 0 })
  await clock.advance(400)
  stream.report({ step: 'pull', percent: 50 })
  await stream.end()
  const last = sent.at(-1)
  expect(last).toMatchObject({ step: 'pull', percent: 50, at: '2026-01-05T02:00:00.400Z', since: start })
})

test('while the daemon is away the beginning of each step is not lost', async () => {
  const { clock, sent, daemon, stream } = aStream()
  daemon.away = true
  for (const step of ['fence', 'stop', 'snapshot']) {
    for (let n = 0; n < 200; n++) {
      stream.report({ step, percent: n / 2 })
      await clock.advance(100)
    }
  }
  daemon.away = false
  await stream.end()
  expect(addSteps([], sent).map(({ step, at }) => [step, at.slice(11, 19)])).toEqual([
    ['fence', '02:00:00'],
    ['stop', '02:00:20'],
    ['snapshot', '02:00:40'],
  ])
})
