import type { ExitCode } from '../core/kit/index.ts'
import { asksFirstPage, firstPage } from './first-page.ts'
import { names, treeFor } from './tree.ts'

/** `tenantry` on this machine. What commands are parsed and run with is loaded only for them: help is instant. */
export async function main(): Promise<ExitCode> {
  endQuietlyWhenUnread()
  const words = process.argv.slice(2)
  if (!asksFirstPage(words)) return run(words)
  process.stdout.write(firstPage(names()))
  return 0
}

/** Ctrl-C stops what can be stopped; a second one ends the program at once. */
async function run(words: readonly string[]): Promise<ExitCode> {
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  const { systemClock } = await import('../node/clock.ts')
  const { packageVersion } = await import('../node/package.ts')
  const { runCommandLine } = await import('./kit/index.ts')
  const { env, stdin, stdout, stderr } = process
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
