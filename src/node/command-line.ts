import type { Command, CommanderError } from 'commander'
import { type Clock, type ExitCode, fold, foldBeside, Problem, plural, printable, type Random } from '../core/kit/index.ts'

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

/** A terminal that does not know its size says 0. */
const usualColumns = 80

type Terminal = Readonly<{ isTTY?: boolean | undefined; columns?: number | undefined }>

/** Text for another program is never cut: without a terminal (or COLUMNS) the width has no end. */
export const widthOf = ({ isTTY, columns }: Terminal, env: Readonly<Record<string, string | undefined>>): number =>
  isTTY ? columns || usualColumns : Number(env.COLUMNS) || Number.POSITIVE_INFINITY

/** A command line that does not fit, and the help of the very command that it meant. */
class Mistake extends Problem {
  readonly help: string

  constructor(message: string, help: string) {
    super('USAGE', message)
    this.help = help
  }
}

/** What commander says of a line that does not fit, as one sentence. */
export const mistakeText = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')

/** Lines of help are broken for the eye, and not where another program reads them. */
const helpWidthOf = (stream: Machine['stdout'], env: Machine['env']): number => {
  const width = widthOf(stream, env)
  return Number.isFinite(width) ? Math.min(width, 120) : width
}

/** Beside names as long as ours commander would leave lines to the terminal, which breaks them inside words. */
export const leastHelpColumns = 20

type Spoken = Pick<Machine, 'stdout' | 'stderr' | 'env'>

/** Where commander says what: help as wide as what it goes to, and of a mistake nothing, which is told by whoever runs the program. */
export const outputOf = (program: Command, { stdout, stderr, env }: Spoken) => ({
  writeOut: (text: string) => stdout.write(text),
  // The help that stands above a mistake; a script reads the mistake alone.
  writeErr: (text: string) => (program.opts().json ? undefined : stderr.write(text)),
  getOutHelpWidth: () => helpWidthOf(stdout, env),
  getErrHelpWidth: () => helpWidthOf(stderr, env),
  outputError: () => undefined,
})

/** Help goes through the machine; a line that does not fit is thrown as USAGE, for `tellProblem`. */
export function speakThrough(program: Command, machine: Spoken): Command {
  const output = outputOf(program, machine)
  const join = (command: Command, typed: string): void => {
    command
      .configureOutput(output)
      .configureHelp({ minWidthToWrap: leastHelpColumns })
      .exitOverride((error) => {
        throw error.exitCode === 0 ? error : new Mistake(mistakeText(error), `${typed} --help`)
      })
    for (const below of command.commands) join(below, `${typed} ${below.name()}`)
  }
  join(program, program.name())
  return program
}

/** Says on stderr what went wrong, as `tenantry` says it: to a person in lines as wide as the terminal, to a script as one line. */
export function tellProblem({ stderr, env }: Pick<Machine, 'stderr' | 'env'>, found: Problem, json: boolean): ExitCode {
  const { message, code, details = [] } = found
  const listed = details.length > 1 ? details.map(({ path, reason }) => `  ${printable(`${path} ${reason}`)}`) : []
  const next = found instanceof Mistake ? [`next:  ${found.help}`] : []
  const lines = [`error: ${printable(message)} [${code}]`, ...listed, ...next].join('\n')
  stderr.write(`${json ? JSON.stringify(found.toBody()) : fold(lines, widthOf(stderr, env))}\n`)
  return found.exit
}

/** One thing a doctor looked at: how it is, and, if it is not well, what to type. */
export type Check = Readonly<{ name: string; state: 'ok' | 'warn' | 'failed'; says: string; mend?: string }>

export const well = (name: string, says: string): Check => ({ name, state: 'ok', says })
/** It works, but will not when it is needed. */
export const doubtful = (name: string, says: string, mend: string): Check => ({ name, state: 'warn', says, mend })
export const failing = (name: string, says: string, mend: string): Check => ({ name, state: 'failed', says, mend })

const marks = { ok: '✓', warn: '!', failed: '✗' } as const satisfies Record<Check['state'], string>

/** Prints what was found, a line each. Exit code 1 when something would keep the program from working. */
export function tellChecks(machine: Machine, options: Globals, checks: readonly Check[], nameColumns: number): ExitCode {
  const width = widthOf(machine.stdout, machine.env)
  const lineOf = ({ name, state, says, mend }: Check) => {
    const found = foldBeside(`${marks[state]} ${name.padEnd(nameColumns)} `, says, width)
    return mend ? `${found}\n${foldBeside(`  ${''.padEnd(nameColumns)} mend: `, mend, width)}` : found
  }
  const failures = checks.filter(({ state }) => state === 'failed').length
  const warnings = checks.filter(({ state }) => state === 'warn').length
  const sum = failures + warnings === 0 ? 'all is well' : `${plural(failures, 'fault')}, ${plural(warnings, 'warning')}`
  print(machine, options, { checks }, `${checks.map(lineOf).join('\n')}\n\n${sum}`)
  return failures > 0 ? 1 : 0
}
