import type { Clock, Random } from '../core/kit/index.ts'

type Output = Readonly<{ write(text: string): unknown; isTTY?: boolean | undefined; columns?: number | undefined }>

/** The machine as a program sees it; tests give their own. */
export type Machine = Readonly<{
  env: Readonly<Record<string, string | undefined>>
  stdin: AsyncIterable<unknown> & Readonly<{ isTTY?: boolean | undefined }>
  stdout: Output
  stderr: Output
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal
  clock: Clock
  random: Random
  /** A settings file that is read where none is named and this one is there. */
  usualSettings?: string
}>

/** Options of the program itself, which every command has. */
export type Globals = Readonly<{ config?: string; json?: boolean }>

/** A result for scripts, or the words for a person. */
export function print({ stdout }: Pick<Machine, 'stdout'>, { json }: Globals, result: unknown, words: string): void {
  stdout.write(`${json ? JSON.stringify(result, null, 2) : words}\n`)
}
