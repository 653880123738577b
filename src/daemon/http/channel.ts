import type { Writable } from 'node:stream'
import type { Response } from 'express'

/** A client that lets this much pile up is cut off; it comes back with its Last-Event-ID. */
const mostPendingBytes = 256 * 1024

/** The open answer of one client who listens. Nothing that it does waits for the client. */
export class Channel {
  readonly #response: Response
  readonly #out: Writable
  /** A socket hears of the end of its answer only once the client has taken the rest. */
  #ended = false

  /** `out` is what messages go to: the answer, or its socket, where its body is not framed. */
  constructor(response: Response, out: Writable = response) {
    this.#response = response
    this.#out = out
  }

  /** True once nothing can be sent any more: the client left, was cut off, or the stream ended. */
  get closed(): boolean {
    return this.#ended || this.#out.destroyed || this.#out.writableEnded
  }

  /** Passes whole messages on. */
  write(bytes: Uint8Array | string): void {
    if (this.closed) return
    this.#out.write(bytes)
    if (this.#out.writableLength > mostPendingBytes) this.#response.destroy()
  }

  /** Resolves once the client has taken what was written, or left, or nobody waits for it any more. */
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

  /** Ends the answer in order, after what was written. */
  end(): void {
    if (this.closed) return
    this.#ended = true
    this.#response.end()
  }

  /** Ends it now: a client that is far behind does not get the rest. */
  cut(): void {
    if (this.#out.writableNeedDrain) this.#response.destroy()
    else this.end()
  }
}
