import type { ExitCode } from '../../core/kit/index.ts'
import { systemClock } from '../../node/clock.ts'
import { systemRandom } from '../../node/random.ts'
import { runProgram } from './run-program.ts'

/** Where a host has its settings: what a person types there is about the agent that runs, without naming them. */
const usualSettings = '/etc/tenantry/tenantry-agent.yaml'

/** `tenantry-agent` on this machine. The first SIGINT or SIGTERM asks it to drain, the second ends it at once. */
export async function main(): Promise<ExitCode> {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const { env, stdin, stdout, stderr } = process
  const machine = { env, stdin, stdout, stderr, signal: ending.signal, clock: systemClock, random: systemRandom, usualSettings }
  return runProgram(process.argv.slice(2), machine)
}
