import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Db } from '../db/index.ts'

/** The number of the newest event of a stream, as a read has it that began after it was asked for. */
type Heads = (stream: string) => Promise<number>

type Batch = { streams: Set<string>; result: Promise<ReadonlyMap<string, number>> }

/**
 * Whoever asks while others do is answered by one read for all of them: whether a document still holds is asked of the database each time, so no
 * replica ever has to be told, and under load it costs next to nothing.
 */
export function makeHeads(db: Db): Heads {
  let next: Batch | undefined
  let last: Promise<unknown> = Promise.resolve()
  const begin = (): Batch => {
    const streams = new Set<string>()
    const before = last.catch(() => undefined)
    const result = before.then(yieldToEventLoop).then(() => {
      next = undefined // who asks from here on is answered by the next read
      return readHeads(db, [...streams])
    })
    last = result
    return { streams, result }
  }
  return async (stream) => {
    next ??= begin()
    next.streams.add(stream)
    return (await next.result).get(stream) ?? 0
  }
}

async function readHeads(db: Db, streams: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('streams')
    .selectAll()
    .where('stream', 'in', [...streams])
    .execute()
  return new Map(rows.map(({ stream, seq }) => [stream, Number(seq)]))
}
