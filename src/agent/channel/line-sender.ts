import type { LogBatch } from '../../core/boxes/index.ts'
import { channelLimits } from '../../core/hosts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { CommandContext } from '../ports/index.ts'
import type { AgentClient } from './connection.types.ts'
import { isFatal, orAborted } from './retry.ts'

type State = Awaited<ReturnType<CommandContext['sendLines']>>
type Batch = LogBatch & Readonly<{ commandId: string; leaseToken: number }>
type Waiting = Readonly<{ batch: Batch; resolve: (state: State) => void }>

/** Sends the lines of all followed boxes of this host together: a call costs more than the lines in it. */
export type LineSender = Readonly<{ send(batch: Batch, signal: AbortSignal): Promise<State> }>

const everyMs = 1_000
/** Followers that were answered together send together again. */
const gatherMs = 50
/** A character may take six bytes in JSON, and a line has a frame. */
const maxBytesOf = ({ lines }: LogBatch): number => lines.reduce((sum, { text }) => sum + text.length * 6 + 200, 200)

export function lineSender({ clock, client }: Readonly<{ clock: Clock; client: AgentClient }>): LineSender {
  let waiting: readonly Waiting[] = []
  let sentMs = Number.NEGATIVE_INFINITY
  let isSending = false

  const post = async (sent: readonly Waiting[]) => {
    const states = await client.postLines({ body: { batches: sent.map(({ batch }) => batch) } }).then(
      (answer) => answer.states,
      (error) => sent.map((): State => (isFatal(error) ? 'ended' : 'busy')),
    )
    for (const [at, { resolve }] of sent.entries()) resolve(states[at] ?? 'busy')
  }
  const sendAll = async () => {
    if (isSending) return
    isSending = true
    while (waiting.length > 0) {
      await clock.sleep(Math.max(gatherMs, sentMs + everyMs - gatherMs - clock.monotonicMs()))
      sentMs = clock.monotonicMs()
      const sent = waiting
      waiting = []
      for (const part of callsOf(sent)) await post(part)
    }
    isSending = false
  }
  return {
    send: async (batch, signal) => {
      let state: State = 'ended'
      const answered = new Promise<State>((resolve) => {
        waiting = [...waiting, { batch, resolve }]
        void sendAll()
      }).then((answer) => {
        state = answer
      })
      await orAborted(answered, signal)
      return state
    },
  }
}

/** As many batches as a call may have. */
function callsOf(waiting: readonly Waiting[]): Waiting[][] {
  const calls: Waiting[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const one of waiting) {
    const added = maxBytesOf(one.batch)
    const last = calls.at(-1)
    const fits = last !== undefined && last.length < channelLimits.followers && bytes + added <= channelLimits.reportsBytes
    if (fits) last.push(one)
    else calls.push([one])
    bytes = fits ? bytes + added : added
  }
  return calls
}
