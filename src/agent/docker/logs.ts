import { Readable, Writable } from 'node:stream'
import type { LogOptions } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { demux } from './demux.ts'
import { engineProblem } from './engine-problem.ts'

/** The end of what a container printed, output and errors in the engine's order. Bytes that are no UTF-8 become U+FFFD. */
export async function logs(docker: Docker, id: string, lines: number, { since, timestamps = false }: LogOptions = {}): Promise<string> {
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
    throw engineProblem(error, `the log of ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Seconds and nanoseconds, as the engine's API wants them; a date of ours would lose the last six digits. */
function engineTime(time: string): string {
  const fraction = /\.([0-9]{1,9})/.exec(time)?.[1] ?? ''
  return `${Math.floor(Date.parse(time) / 1000)}.${fraction.padEnd(9, '0')}`
}
