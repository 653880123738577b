import type { Clock } from '../../core/kit/index.ts'
import { widthOf } from '../../node/terminal-width.ts'
import { type Look, paintWith } from './look.ts'

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
export const wantsColour = (output: Output, env: Environment, noColour: boolean): boolean =>
  output.isTTY === true && !noColour && !env.NO_COLOR && env.TERM !== 'dumb'

export function lookOf(output: Output, env: Environment, noColour: boolean, now: Date): Look {
  const colour = wantsColour(output, env, noColour)
  return { width: widthOf(output, env), colour, paint: paintWith(colour), now }
}

export async function readAll(input: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const chunk of input) text += String(chunk)
  return text
}
