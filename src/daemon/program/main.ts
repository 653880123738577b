import type { ExitCode } from '../../core/kit/index.ts'
import { systemClock } from '../../node/clock.ts'
import { systemRandom } from '../../node/random.ts'
import { runProgram } from './run-program.ts'

/** Runs `tenantryd`. The first SIGINT or SIGTERM shuts it down gracefully, the second kills it. */
export async function main(): Promise<ExitCode> {
  process.umask(0o077) // nothing it creates is for other users of the machine, whatever folder it is in
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const { env, stdin, stdout, stderr } = process
  return runProgram(process.argv.slice(2), { env, stdin, stdout, stderr, signal: ending.signal, clock: systemClock, random: systemRandom })
}
