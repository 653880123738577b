import { type Clock, duration } from '../../core/kit/index.ts'
import type { Output } from './terminal.ts'

/** What goes on while a person waits; always on stderr. */
export type Progress = Readonly<{
  tell: (line: string) => void
  done: (line: string) => void
  fail: (line: string) => void
  /** Takes the moving part away without a last line. */
  stop: () => void
}>

/** One line each time something changes: for logs and pipes. */
export function plainProgress(output: Output, firstLine: string): Progress {
  let last = ''
  const tell = (line: string) => {
    if (line !== last) output.write(`${line}\n`)
    last = line
  }
  tell(firstLine)
  return { tell, done: tell, fail: tell, stop: () => undefined }
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
  const turning = ora({ text: firstLine, stream, discardStdin: false, suffixText: elapsed }).start()
  return {
    tell: (line) => {
      turning.text = line
    },
    done: (line) => {
      const took = elapsed()
      turning.suffixText = ''
      turning.succeed(took ? `${line} in ${took}` : line)
    },
    fail: (line) => turning.fail(line),
    stop: () => turning.stop(),
  }
}
