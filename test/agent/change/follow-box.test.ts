import { expect, test } from 'vitest'
import { followBox } from '../../../src/agent/change/follow-box.ts'

/** A box whose chat server answers on request; the clock moves by what is slept. */
function aBox() {
  const chat = { answers: false, polls: 0 }
  let elapsedMs = 0
  const clock = {
    now: () => new Date(elapsedMs),
    monotonicMs: () => elapsedMs,
    sleep: async (ms: number) => {
      elapsedMs += ms
    },
  }
  const servers = {
    chatAnswers: async () => {
      chat.polls += 1
      return chat.answers
    },
  }
  const engine = { events: async function* () {} }
  const run = { deps: { clock, servers, engine }, box: { project: { name: 'box-oak' } }, signal: new AbortController().signal }
  const watch = { assertContainersUnchanged: async () => undefined, hasStopped: () => false }
  const events = followBox(run as never, watch as never)
  return { chat, events, elapsedMs: () => elapsedMs }
}

test('a server that does not answer is waited for the whole time', async () => {
  const { events, elapsedMs, chat } = aBox()
  expect(await events.untilChatAnswers(4_000)).toBe(false)
  expect(elapsedMs()).toBe(4_000)
  expect(chat.polls).toBeGreaterThan(10)
})

test('a server that began to answer during a bad probe is probed again at once', async () => {
  const { events, elapsedMs, chat } = aBox()
  await events.untilChatAnswers(4_000)
  chat.answers = true
  expect(await events.untilChatAnswers(8_000)).toBe(true)
  expect(elapsedMs()).toBe(4_000)
})

test('a server that answered before its bad probe is given the whole time', async () => {
  const { events, elapsedMs, chat } = aBox()
  chat.answers = true
  expect(await events.untilChatAnswers(4_000)).toBe(true)
  expect(await events.untilChatAnswers(1_000)).toBe(false)
  expect(elapsedMs()).toBe(1_000)
})

test('a server that stopped answering is polled again', async () => {
  const { events, elapsedMs, chat } = aBox()
  chat.answers = true
  await events.untilChatAnswers(4_000)
  chat.answers = false
  await events.untilChatAnswers(1_000)
  chat.answers = true
  expect(await events.untilChatAnswers(1_000)).toBe(true)
  expect(elapsedMs()).toBe(1_000)
})
