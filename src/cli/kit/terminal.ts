import { type Clock, duration } from '../../core/kit/index.ts'
import { widthOf } from '../../node/command-line.ts'
import { paintWith, type Style } from './style.ts'

/** A stream that is written to, and what is known of the terminal behind it. */
export type Output = Readonly<{
  write: (text: string) => unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
  rows?: number | undefined
}>

type Environment = Readonly<Record<string, string | undefined>>

/** The machine as the program sees it; tests give their own. */
export type Machine = Readonly<{
  env: Environment
  stdin: AsyncIterable<unknown> & Readonly<{ isTTY?: boolean | undefined }>
  stdout: Output
  stderr: Output
  signal: AbortSignal
  fetch?: typeof globalThis.fetch
  clock: Clock
}>

/** Colour is for terminals, and only where nobody asked for none (NO_COLOR, --no-color, a dumb terminal). */
export const usesColour = (output: Output, env: Environment, noColour: boolean): boolean =>
  output.isTTY === true && !noColour && !env.NO_COLOR && env.TERM !== 'dumb'

export function styleOf(output: Output, env: Environment, noColour: boolean, now: Date): Style {
  const colour = usesColour(output, env, noColour)
  return { width: widthOf(output, env), colour, paint: paintWith(colour), now }
}

export async function readAll(input: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const chunk of input) text += String(chunk)
  return text
}

/** What goes on while a person waits; always on stderr. */
export type Progress = Readonly<{
  update: (line: string) => void
  done: (line: string) => void
  fail: (line: string) => void
  /** Takes the moving part away without a last line. */
  stop: () => void
}>

/** One line each time something changes: for logs and pipes. */
export function plainProgress(output: Output, firstLine: string): Progress {
  let last = ''
  const update = (line: string) => {
    if (line !== last) output.write(`${line}\n`)
    last = line
  }
  update(firstLine)
  return { update, done: update, fail: update, stop: () => undefined }
}

/** What is over sooner needs no clock beside it. */
const quickMs = 3000

/** A spinner with one line that changes in place. */
export async function spinner(stream: NodeJS.WriteStream, firstLine: string, clock: Clock): Promise<Progress> {
  const { default: ora } = await import('ora')
  const begun = clock.monotonicMs()
  const elapsed = () => {
    const ms = clock.monotonicMs() - begun
    return ms < quickMs ? '' : duration(ms)
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
