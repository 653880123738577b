import type { ExitCode } from '../core/kit/index.ts'
import { systemClock } from '../node/clock.ts'
import { packageVersion } from '../node/package.ts'
import { runCommandLine } from './kit/index.ts'
import { treeFor } from './tree.ts'

/** `tenantry` on this machine. Ctrl-C stops what can be stopped; a second one ends the program at once. */
export async function main(): Promise<ExitCode> {
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  endQuietlyWhenUnread()
  const { env, stdin, stdout, stderr } = process
  const words = process.argv.slice(2)
  return runCommandLine(await treeFor(words), words, packageVersion(), {
    env,
    stdin,
    stdout,
    stderr,
    signal: interrupted.signal,
    clock: systemClock,
  })
}

/** `tenantry … | head` closes the pipe early: no failure. */
function endQuietlyWhenUnread(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}
