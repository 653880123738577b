import type { Response } from 'express'
import { formatStreamMessage, type StreamMessage } from '../../core/contract/index.ts'

const heartbeatMs = 15_000
/** A client that lets this much pile up is cut off; it comes back with its Last-Event-ID. */
const mostPendingBytes = 1024 * 1024

/** Sends messages until the source ends, the client leaves or the daemon drains. */
export async function sendStream(response: Response, messages: AsyncIterable<StreamMessage<unknown>>, signal: AbortSignal): Promise<void> {
  response.status(200).set({ 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  response.write(': open\n\n') // makes proxies pass the head on at once
  const heartbeat = setInterval(() => response.write(': \n\n'), heartbeatMs)
  try {
    for await (const message of messages) {
      if (signal.aborted || response.writableLength > mostPendingBytes) break
      response.write(formatStreamMessage(message))
    }
  } finally {
    clearInterval(heartbeat)
    response.end()
  }
}
