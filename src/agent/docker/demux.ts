import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

/**
 * Splits Docker's stream of framed output. A slow receiver slows the sender down: a dump of gigabytes never piles up in memory.
 * Frame: one byte of channel (1 out, 2 err), three of nothing, four of length, then the bytes.
 */
export async function demux(stream: Readable, out: Writable, err: Writable): Promise<void> {
  let left: Buffer = Buffer.alloc(0)
  let target = out
  let open = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    left = left.length > 0 ? Buffer.concat([left, chunk]) : chunk
    while (left.length > 0) {
      if (open === 0) {
        if (left.length < 8) break
        target = left[0] === 2 ? err : out
        open = left.readUInt32BE(4)
        left = left.subarray(8)
      }
      const part = left.subarray(0, open)
      if (part.length > 0) await write(target, part)
      open -= part.length
      left = left.subarray(part.length)
    }
  }
}

async function write(target: Writable, part: Buffer): Promise<void> {
  if (target.errored) throw target.errored
  if (!target.write(part)) await once(target, 'drain')
}
