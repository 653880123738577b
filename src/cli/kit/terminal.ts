import { type Clock, duration } from '../../core/kit/index.ts'
import { widthOf } from '../../node/command-line.ts'
import { paintWith, type Style } from './style.ts'

/** An output stream with the size of its terminal, if it is one. */
export type Output = Readonly<{
  write: (text: string) => unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
  rows?: number | undefined
}>

type Environment = Readonly<Record<string, string | undefined>>

/** The process environment; tests pass their own. */
export type Machine = Readonly<{
  env: Environment
  stdin: AsyncIterable<unknown> & Readonly<{ isTTY?: boolean | undefined }>
  stdout: Output
  stderr: Output
  signal: AbortSignal
  fetch?: typeof globalThis.fetch
  clock: Clock
  /** Measures the wait for each answer of the daemon; default: `clock`. */
  answerClock?: Clock
}>

/** Colour on terminals only, unless NO_COLOR, --no-color or a dumb terminal turns it off. */
export const usesColour = (output: Output, env: Environment, noColour: boolean): boolean =>
  output.isTTY === true && !noColour && !env.NO_COLOR && env.TERM !== 'dumb'

type Wishes = Readonly<{ color: boolean; output?: string; columns?: readonly string[]; quiet?: boolean; verbose?: boolean }>

/** Text for a pipe is never cut or folded, whatever COLUMNS says. */
export function styleOf(output: Output, env: Environment, { color, output: format, columns, quiet, verbose }: Wishes): Omit<Style, 'now'> {
  const colour = usesColour(output, env, !color)
  const allColumns = output.isTTY !== true || format === 'wide'
  const width = allColumns ? Number.POSITIVE_INFINITY : widthOf(output, env)
  return {
    width,
    colour,
    paint: paintWith(colour),
    allColumns,
    ...(columns ? { columns } : {}),
    quiet: quiet === true,
    verbose: verbose === true,
  }
}

/** Progress of a running command, on stderr. */
export type Progress = Readonly<{
  update: (line: string) => void
  done: (line: string) => void
  fail: (line: string) => void
  /** Removes the spinner without a last line. */
  stop: () => void
}>

/** For `--quiet`. */
export const silentProgress: Progress = { update: () => undefined, done: () => undefined, fail: () => undefined, stop: () => undefined }

/** One line per change, for logs and pipes. */
export function plainProgress(output: Output, firstLine: string): Progress {
  let last = ''
  const update = (line: string) => {
    if (line !== last) output.write(`${line}\n`)
    last = line
  }
  update(firstLine)
  return { update, done: update, fail: update, stop: () => undefined }
}

/** Elapsed time is shown from here on. */
const showElapsedFromMs = 3000

/** A spinner beside one line that changes in place. */
export async function spinner(stream: NodeJS.WriteStream, firstLine: string, clock: Clock): Promise<Progress> {
  const { default: ora } = await import('ora')
  const startedMs = clock.monotonicMs()
  const elapsed = () => {
    const ms = clock.monotonicMs() - startedMs
    return ms < showElapsedFromMs ? '' : duration(ms)
  }
  const animation = ora({ text: firstLine, stream, discardStdin: false, suffixText: elapsed }).start()
  return {
    update: (line) => {
      animation.text = line
    },
    done: (line) => {
      const took = elapsed()
      animation.suffixText = ''
      animation.succeed(took ? `${line} in ${took}` : line)
    },
    fail: (line) => animation.fail(line),
    stop: () => animation.stop(),
  }
}
