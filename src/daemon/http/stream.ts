import type { Response } from 'express'
import { formatStreamMessage, type StreamMessage } from '../../core/contract/index.ts'
import { Channel } from './channel.ts'
import type { KeepAlive } from './keep-alive.ts'

/** A stream whose messages come from elsewhere, such as one event for thousands of clients: it is handed the open channel. */
export type PushStream = Readonly<{
  /** The head of the answer is out. It is called once, also when the client is gone by then; not for who wants the head alone. */
  opened(channel: Channel): void
  /** The client left, the daemon drains, or the stream ended. */
  closed(): void
  /** What keeps the connection open. */
  beat(): Uint8Array | string
}>

const comment = ': \n\n'

/** Not to be compressed or kept on the way either: each message is to arrive when it is sent. */
const head = { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }

/** Sends messages until the source ends, the client leaves, lets too much pile up, or the daemon drains. */
export async function sendStream(
  response: Response,
  messages: AsyncIterable<StreamMessage<unknown>> | PushStream,
  { heart, signal }: Readonly<{ heart: KeepAlive; signal: AbortSignal }>,
): Promise<void> {
  const source = 'opened' in messages ? messages : undefined
  response.status(200).set(head)
  if (response.req.method === 'HEAD') return onlyHead(response, source)
  const channel = source ? straight(response) : new Channel(response)
  channel.write(': open\n\n') // makes proxies pass the head on at once
  const beat = () => channel.write(source?.beat() ?? comment)
  heart.add(beat)
  try {
    await (source ? push(channel, source, signal) : pull(channel, messages as AsyncIterable<StreamMessage<unknown>>, signal))
  } finally {
    heart.remove(beat)
    channel.end()
  }
}

/** Without a body nothing would ever be sent, not even the head, and the place of the stream would be taken until the client gives up. */
function onlyHead(response: Response, source: PushStream | undefined): void {
  source?.closed()
  response.end()
}

/**
 * What thousands listen to is not framed in chunks, so that each message goes to the socket as it is: by way of the answer it took half as long
 * again. Only for clients that come back after any end: a connection that was lost looks to them like one that was closed.
 */
function straight(response: Response): Channel {
  response.removeHeader('transfer-encoding')
  response.set('connection', 'close')
  response.flushHeaders()
  return new Channel(response, response.socket ?? response)
}

/** The source waits for who is slower: it has the rest stored, and a burst is to cost nobody the connection. */
async function pull(channel: Channel, messages: AsyncIterable<StreamMessage<unknown>>, signal: AbortSignal): Promise<void> {
  for await (const message of messages) {
    if (signal.aborted || channel.closed) break
    channel.write(formatStreamMessage(message))
    await channel.drained(signal)
  }
}

async function push(channel: Channel, source: PushStream, signal: AbortSignal): Promise<void> {
  try {
    source.opened(channel)
    await new Promise<void>((over) => {
      if (signal.aborted) over()
      else signal.addEventListener('abort', () => over(), { once: true })
    })
  } finally {
    source.closed()
  }
}
