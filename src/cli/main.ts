import type { ExitCode } from '../core/kit/index.ts'
import { asksFirstPage, firstPage, helpColumns } from './first-page.ts'
import { names, treeFor } from './nouns.ts'

/** The `tenantry` command. The framework is loaded only to run a command, so that help is instant. */
export async function main(): Promise<ExitCode> {
  exitQuietlyOnClosedPipe()
  exitOnUnhandled()
  const words = process.argv.slice(2)
  if (!asksFirstPage(words)) return run(words)
  process.stdout.write(firstPage(names(), helpColumns(process.stdout)))
  return 0
}

/**
 * The first Ctrl-C aborts the command; a second one ends the process. The listener stays: without one, the library of the board ends the
 * process before its last screen is drawn.
 */
async function run(words: readonly string[]): Promise<ExitCode> {
  const interrupted = new AbortController()
  process.on('SIGINT', () => (interrupted.signal.aborted ? process.exit(130) : interrupted.abort()))
  const { systemClock } = await import('../node/clock.ts')
  const { buildVersion } = await import('../node/package.ts')
  const { runCommandLine } = await import('./kit/index.ts')
  const { env, stdin, stdout, stderr } = process
  return runCommandLine({ tree: await treeFor(words), version: buildVersion() }, words, {
    env,
    stdin,
    stdout,
    stderr,
    signal: interrupted.signal,
    clock: systemClock,
  })
}

/** The last resort: an error that no command handles is one line, as its other errors are. */
function exitOnUnhandled(): void {
  process.on('uncaughtException', (error) => {
    const text = process.env.TENANTRY_DEBUG ? (error?.stack ?? error) : (error?.message ?? error)
    process.stderr.write(`error: internal error: ${text}\nnext:  run it again with TENANTRY_DEBUG=1 and report the output\n`)
    process.exit(1)
  })
}

/** `tenantry … | head` closes the pipe early; that is not a failure. */
function exitQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}
