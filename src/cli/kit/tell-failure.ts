import { type ExitCode, fold, isProblem } from '../../core/kit/index.ts'
import { widthOf } from '../../node/terminal-width.ts'
import { exitOf, explain, failureBody, type Typed } from './failure.ts'
import { paintWith } from './look.ts'
import type { Globals } from './program.ts'
import { type Machine, wantsColour } from './terminal.ts'

/** Says on stderr what went wrong, to a person, or to a script as one line, the last: progress may stand before it. The exit code. */
export function tellFailure(
  error: unknown,
  typed: Typed,
  globals: Pick<Globals, 'json' | 'color'>,
  { stderr, env, signal }: Machine,
): ExitCode {
  if (env.TENANTRY_DEBUG) stderr.write(`${causes(error).join('\ncaused by ')}\n`)
  if (signal.aborted && !isProblem(error)) stderr.write('stopped by Ctrl-C; what the daemon had begun goes on\n')
  else if (globals.json) stderr.write(`${JSON.stringify(failureBody(error))}\n`)
  else {
    const told = explain(error, { ...typed, byToken: Boolean(env.TENANTRY_TOKEN) }, paintWith(wantsColour(stderr, env, !globals.color)))
    stderr.write(`${fold(told, widthOf(stderr, env))}\n`)
  }
  return exitOf(error)
}

function causes(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)]
  return [error.stack ?? error.message, ...(error.cause === undefined ? [] : causes(error.cause))]
}
