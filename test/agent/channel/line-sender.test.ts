import { expect, test } from 'vitest'
import type { AgentClient } from '../../../src/agent/channel/connection.types.ts'
import { lineSender } from '../../../src/agent/channel/line-sender.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'

type Sent = Readonly<{ commandId: string; lines: readonly Readonly<{ text: string }>[] }>

const batch = (commandId: string, text = 'a line') => ({
  ...{ commandId, leaseToken: 1, leftOut: false },
  lines: [{ at: '2026-01-05T02:00:00Z', service: 'synapse' as const, text }],
})

function world(answer: (sent: readonly Sent[]) => readonly string[] | Error = (sent) => sent.map(() => 'accepted')) {
  const clock = manualClock('2026-01-05T02:00:00.000Z')
  const calls: string[][] = []
  const postLines = async ({ body }: { body: { batches: readonly Sent[] } }) => {
    calls.push(body.batches.map(({ commandId }) => commandId))
    const states = answer(body.batches)
    if (states instanceof Error) throw states
    return { states }
  }
  const sender = lineSender({ clock, client: { postLines } as unknown as AgentClient })
  const never = new AbortController().signal
  return { clock, calls, send: (id: string, text?: string, signal = never) => sender.send(batch(id, text), signal) }
}

test('lines of all followers go in one call, at most once a second, and each follower gets its own answer', async () => {
  const { clock, calls, send } = world((sent) => sent.map(({ commandId }) => (commandId === 'b' ? 'ended' : 'accepted')))
  const first = [send('a'), send('b'), send('c')]
  await clock.advance(50)
  expect(await Promise.all(first)).toEqual(['accepted', 'ended', 'accepted'])
  const second = [send('a'), send('c')]
  await clock.advance(949)
  expect(calls).toEqual([['a', 'b', 'c']])
  await clock.advance(1)
  expect(await Promise.all(second)).toEqual(['accepted', 'accepted'])
  expect(calls).toEqual([
    ['a', 'b', 'c'],
    ['a', 'c'],
  ])
})

test('what would be too large for one call goes in several', async () => {
  const { clock, calls, send } = world()
  const large = 'x'.repeat(64 * 1024)
  const sent = ['a', 'b', 'c', 'd'].map((id) => send(id, large))
  await clock.advance(50)
  await Promise.all(sent)
  expect(calls).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})

test.each([
  ['UNREACHABLE', 'busy'],
  ['HOST_REVOKED', 'ended'],
] as const)('a call that fails with %s: %s', async (code, state) => {
  const { clock, send } = world(() => problem(code, 'no'))
  const sent = send('a')
  await clock.advance(50)
  expect(await sent).toBe(state)
})

test('a follower that is gone waits for no answer', async () => {
  const { send } = world()
  const gone = new AbortController()
  const sent = send('a', 'a line', gone.signal)
  gone.abort()
  expect(await sent).toBe('ended')
})
