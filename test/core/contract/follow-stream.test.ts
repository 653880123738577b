import { expect, test } from 'vitest'
import { followStream, type StreamMessage } from '../../../src/core/contract/index.ts'

type Message = StreamMessage<string>
const message = (id: string): Message => ({ id, event: 'step', data: id })

/** Follows what each opening answers, until the event `end`; returns what was asked and what happened. */
async function followed(openings: readonly (readonly Message[] | Error)[], signal = new AbortController().signal) {
  const [asked, happened]: [(string | undefined)[], string[]] = [[], []]
  let nth = 0
  let last: string | undefined
  await followStream<string>(
    { sleep: async (ms) => void happened.push(`pause ${ms}`), signal, pauses: { firstMs: 100, maxMs: 300 } },
    {
      open: async (lastEventId) => {
        asked.push(lastEventId)
        const answer = openings[nth++] ?? []
        if (answer instanceof Error) throw answer
        return (async function* () {
          yield* answer
        })()
      },
      lastEventId: '7',
      onOpened: () => happened.push('open'),
      onMessage: ({ data }) => {
        last = data
        happened.push(data)
      },
      onLost: ({ wasOpen, error }) => {
        if ((error as Error | undefined)?.message === 'refused') throw error
        happened.push(wasOpen ? 'ended' : 'away')
      },
      isOver: () => last === 'end',
    },
  )
  return { asked, happened }
}

test('a broken stream continues after its last event, and pauses grow until it is open again', async () => {
  const away = new Error('away')
  const { asked, happened } = await followed([[message('8')], away, away, away, [message('9')], [message('end'), message('10')]])
  expect(asked).toEqual(['7', '8', '8', '8', '8', '9'])
  expect(happened.filter((one) => one.startsWith('pause'))).toEqual(['pause 100', 'pause 200', 'pause 300', 'pause 300', 'pause 100'])
  expect(happened.filter((one) => !one.startsWith('pause'))).toEqual([
    ...['open', '8', 'ended', 'away', 'away', 'away', 'open', '9', 'ended'],
    ...['open', 'end'],
  ])
})

test('what the caller throws about a lost stream ends it', async () => {
  await expect(followed([[message('8')], new Error('refused')])).rejects.toThrow('refused')
})

test('nothing is opened once the signal has aborted', async () => {
  expect((await followed([[message('8')]], AbortSignal.abort())).asked).toEqual([])
})
