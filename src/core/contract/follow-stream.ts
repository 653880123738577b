import { type Clock, doubledMs } from '../kit/index.ts'
import type { StreamMessage } from './endpoint.ts'

type Followed<Data> = Readonly<{
  /** Opens the stream after the event of that id. */
  open(lastEventId: string | undefined): Promise<AsyncIterable<StreamMessage<Data>>>
  lastEventId?: string | undefined
  onOpened(): void
  onMessage(message: StreamMessage<Data>): void
  /** The stream ended, or was not opened (`error`). Throws what ends it. */
  onLost(lost: Readonly<{ wasOpen: boolean; error: unknown }>): void
  isOver(): boolean
}>

type Deps = Readonly<{ sleep: Clock['sleep']; signal: AbortSignal; pauses: Readonly<{ firstMs: number; maxMs: number }> }>

/** Follows a stream until it is over or the signal aborts. Reconnects after the last event that arrived, so that each arrives once. */
export async function followStream<Data>({ sleep, signal, pauses }: Deps, stream: Followed<Data>): Promise<void> {
  let { lastEventId } = stream
  for (let attempt = 1; !signal.aborted && !stream.isOver(); attempt++) {
    let [wasOpen, error]: [boolean, unknown] = [false, undefined]
    try {
      const messages = await stream.open(lastEventId)
      wasOpen = true
      attempt = 1
      stream.onOpened()
      for await (const message of messages) {
        lastEventId = message.id ?? lastEventId
        stream.onMessage(message)
        if (stream.isOver()) return
      }
    } catch (caught) {
      error = caught
    }
    if (signal.aborted) return
    stream.onLost({ wasOpen, error })
    if (!stream.isOver()) await sleep(doubledMs(attempt, pauses), signal)
  }
}
