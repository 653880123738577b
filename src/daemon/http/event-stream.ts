import type { Writable } from 'node:stream'
import type { Response } from 'express'
import { formatStreamMessage, type StreamMessage } from '../../core/contract/index.ts'

import type { Clock } from '../../core/kit/index.ts'

/** A stream that writes to its channel itself, such as one event for thousands of clients. */
export type PushStream = Readonly<{
  /** Called once after the response head was sent, also if the client has disconnected; not for HEAD requests. */
  opened(channel: Channel): void
  /** Called when the client disconnected, the daemon drains, or the stream ended. */
  closed(): void
  /** The bytes of a keep-alive message. */
  keepAlive(): Uint8Array | string
}>

const comment = ': \n\n'

/** Proxies must neither buffer nor compress a stream. */
const head = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' }

/** Sends messages until the source ends, the client disconnects or falls too far behind, or the daemon drains. */
export async function sendStream(
  response: Response,
  messages: AsyncIterable<StreamMessage<unknown>> | PushStream,
  { keepAlives, signal }: Readonly<{ keepAlives: KeepAlive; signal: AbortSignal }>,
): Promise<void> {
  const source = 'opened' in messages ? messages : undefined
  response.status(200).set(head)
  if (response.req.method === 'HEAD') return endWithHead(response, source)
  const channel = source ? unframedChannel(response) : new Channel(response)
  channel.write(': open\n\n') // makes proxies pass the head on at once
  const keepAlive = () => channel.write(source?.keepAlive() ?? comment)
  keepAlives.add(keepAlive)
  try {
    await (source ? sendPushed(channel, source, signal) : sendMessages(channel, messages as AsyncIterable<StreamMessage<unknown>>, signal))
  } finally {
    keepAlives.remove(keepAlive)
    channel.end()
  }
}

/**
 * Tells a client of the EventSource standard to come again in `retryMs`. Such a client ends for good at any status but 200, so it gets a stream that
 * ends at once instead of a refusal.
 */
export function sendRetry(response: Response, { retryMs, why }: Readonly<{ retryMs: number; why: string }>): void {
  response.status(200).set(head).set('cache-control', 'no-store').send(`retry: ${retryMs}\n: ${why}\n\n`)
}

/** Ends a HEAD request at once; otherwise it would occupy a stream slot until the client times out. */
function endWithHead(response: Response, source: PushStream | undefined): void {
  source?.closed()
  response.end()
}

/**
 * Writes to the socket without chunked framing, which saves a third of the time per message. Clients must reconnect after every end, because a
 * lost connection looks like a closed one.
 */
function unframedChannel(response: Response): Channel {
  response.removeHeader('transfer-encoding')
  response.set('connection', 'close')
  response.flushHeaders()
  return new Channel(response, response.socket ?? response)
}

/** Applies backpressure: the source is stored, so a slow client does not lose its connection in a burst. */
async function sendMessages(channel: Channel, messages: AsyncIterable<StreamMessage<unknown>>, signal: AbortSignal): Promise<void> {
  for await (const message of messages) {
    if (signal.aborted || channel.closed) break
    channel.write(formatStreamMessage(message))
    await channel.drained(signal)
  }
}

async function sendPushed(channel: Channel, source: PushStream, signal: AbortSignal): Promise<void> {
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

/** A client with more unsent bytes is disconnected and resumes with its Last-Event-ID. */
const maxPendingBytes = 256 * 1024

/** The open response of one streaming client. Writes never wait for the client. */
export class Channel {
  readonly #response: Response
  readonly #out: Writable
  /** The socket is ended only after the client has received the rest. */
  #ended = false

  /** `out` is the response, or its socket for an unframed body. */
  constructor(response: Response, out: Writable = response) {
    this.#response = response
    this.#out = out
  }

  /** True when nothing can be sent: the client disconnected or the stream ended. */
  get closed(): boolean {
    return this.#ended || this.#out.destroyed || this.#out.writableEnded
  }

  /** Writes complete messages. */
  write(bytes: Uint8Array | string): void {
    if (this.closed) return
    this.#out.write(bytes)
    if (this.#out.writableLength > maxPendingBytes) this.#response.destroy()
  }

  /** Resolves once the client has received the written bytes, disconnected, or `signal` aborts. */
  async drained(signal?: AbortSignal): Promise<void> {
    const out = this.#out
    if (this.closed || signal?.aborted || !out.writableNeedDrain) return
    await new Promise<void>((taken) => {
      const done = () => {
        out.off('drain', done).off('close', done)
        signal?.removeEventListener('abort', done)
        taken()
      }
      out.on('drain', done).on('close', done)
      signal?.addEventListener('abort', done)
    })
  }

  /** Ends the response after the written bytes. */
  end(): void {
    if (this.closed) return
    this.#ended = true
    this.#response.end()
  }

  /** Ends the response now; a client that is behind loses the rest. */
  cut(): void {
    if (this.#out.writableNeedDrain) this.#response.destroy()
    else this.end()
  }
}

const keepAliveMs = 15_000

/** One timer sends the keep-alive messages of all open streams; it runs while a stream is open. */
export type KeepAlive = Readonly<{ add(send: () => void): void; remove(send: () => void): void }>

export function makeKeepAlive(clock: Clock): KeepAlive {
  const senders = new Set<() => void>()
  let stop = new AbortController()
  const run = async ({ signal }: AbortController) => {
    for (;;) {
      await clock.sleep(keepAliveMs, signal)
      if (signal.aborted) return
      for (const send of senders) send()
    }
  }
  const add = (send: () => void) => {
    senders.add(send)
    if (senders.size > 1) return
    stop = new AbortController()
    void run(stop)
  }
  const remove = (send: () => void) => {
    if (senders.delete(send) && senders.size === 0) stop.abort()
  }
  return { add, remove }
}
