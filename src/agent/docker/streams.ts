import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'

import type { EngineEvent, LogOptions } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem } from './engine-problem.ts'

/**
 * Splits Docker's framed output with backpressure, so that large dumps do not fill memory. Frame: 1 byte stream (1 out, 2 err), 3 bytes
 * padding, 4 bytes length, data.
 */
export async function demux(stream: Readable, out: Writable, err: Writable): Promise<void> {
  for await (const { isError, part } of partsOf(stream)) await write(isError ? err : out, part)
}

async function* partsOf(stream: Readable): AsyncGenerator<Readonly<{ isError: boolean; part: Buffer }>> {
  let left: Buffer = Buffer.alloc(0)
  let isError = false
  let open = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    left = left.length > 0 ? Buffer.concat([left, chunk]) : chunk
    while (left.length > 0) {
      if (open === 0) {
        if (left.length < 8) break
        isError = left[0] === 2
        open = left.readUInt32BE(4)
        left = left.subarray(8)
      }
      const part = left.subarray(0, open)
      if (part.length > 0) yield { isError, part }
      open -= part.length
      left = left.subarray(part.length)
    }
  }
}

async function write(target: Writable, part: Buffer): Promise<void> {
  if (target.errored) throw target.errored
  if (!target.write(part)) await once(target, 'drain')
}

/** Last log lines of a container, stdout and stderr in order. Invalid UTF-8 becomes U+FFFD. */
export async function logs(
  { docker, id }: Readonly<{ docker: Docker; id: string }>,
  lines: number,
  { since, timestamps = false }: LogOptions = {},
): Promise<string> {
  const parts: Buffer[] = []
  const keep = new Writable({
    write: (part: Buffer, _, done) => {
      parts.push(part)
      done()
    },
  })
  const from = since === undefined ? {} : { since: engineTime(since) as unknown as number }
  try {
    const framed = await docker.getContainer(id).logs({ stdout: true, stderr: true, tail: lines, follow: false, timestamps, ...from })
    await demux(Readable.from([framed]), keep, keep)
  } catch (error) {
    throw engineProblem(error, `Reading the log of ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  }
  return Buffer.concat(parts).toString('utf8')
}

/** A longer line is cut. */
const maxLineLength = 64 * 1024

/** Log lines from `since` on as they are written; ends when the container stops or the signal aborts. */
export async function* followLogs(
  { docker, id }: Readonly<{ docker: Docker; id: string }>,
  since: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (signal.aborted) return
  const options = { stdout: true, stderr: true, follow: true, timestamps: true, since: engineTime(since) as unknown as number } as const
  const fail = (error: unknown) => engineProblem(error, `Following the log of ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  const stream = (await docker
    .getContainer(id)
    .logs({ ...options, abortSignal: signal })
    .catch((error) => {
      throw fail(error)
    })) as Readable
  const stop = () => stream.destroy()
  signal.addEventListener('abort', stop, { once: true })
  const readers = [new LineReader(), new LineReader()] as const
  try {
    for await (const { isError, part } of partsOf(stream)) yield* readers[isError ? 1 : 0].read(part)
  } catch (error) {
    if (!signal.aborted) throw fail(error)
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** Joins parts to lines. Output and errors of a container have a reader each, so that their parts do not mix. */
class LineReader {
  readonly #decoder = new TextDecoder()
  #rest = ''

  read(part: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.decode(part, { stream: true })).split('\n')
    this.#rest = (lines.pop() ?? '').slice(0, maxLineLength)
    return lines
  }
}

/** Seconds and nanoseconds for the engine's API; a Date would lose the last six digits. */
function engineTime(time: string): string {
  const fraction = /\.([0-9]{1,9})/.exec(time)?.[1] ?? ''
  return `${Math.floor(Date.parse(time) / 1000)}.${fraction.padEnd(9, '0')}`
}

/** Streams container starts, exits and restarts until the signal aborts. Throws DOCKER_UNAVAILABLE when the engine disconnects. */
export async function* engineEvents(docker: Docker, signal: AbortSignal): AsyncGenerator<EngineEvent> {
  if (signal.aborted) return
  const filters = JSON.stringify({ type: ['container'], event: ['start', 'die', 'restart', 'oom'], label: ['com.docker.compose.project'] })
  const stream = await docker.getEvents({ filters }).catch((error) => {
    throw engineProblem(error, 'Reading engine events', 'DOCKER_UNAVAILABLE')
  })
  const stop = () => (stream as unknown as { destroy(): void }).destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    let left = ''
    for await (const chunk of stream) {
      const lines = (left + chunk.toString()).split('\n')
      left = lines.pop() ?? ''
      yield* lines.flatMap(eventOf)
      if (signal.aborted) return
    }
  } catch (error) {
    if (!signal.aborted) throw engineProblem(error, 'Reading engine events', 'DOCKER_UNAVAILABLE')
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

type Line = Readonly<{ Action?: string; Actor?: Readonly<{ Attributes?: Readonly<Record<string, string>> }> }>

function eventOf(line: string): EngineEvent[] {
  if (line.trim() === '') return []
  const { Action = '', Actor } = JSON.parse(line) as Line
  const project = Actor?.Attributes?.['com.docker.compose.project']
  const service = Actor?.Attributes?.['com.docker.compose.service']
  return project !== undefined && service !== undefined ? [{ project, service, action: Action }] : []
}
