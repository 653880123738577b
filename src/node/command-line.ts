import type { Command, CommanderError } from 'commander'
import { type Clock, type ExitCode, fold, foldBeside, Problem, plural, printable, type Random } from '../core/kit/index.ts'

type Output = Readonly<{ write(text: string): unknown; isTTY?: boolean | undefined; columns?: number | undefined }>

/** Machine access of a command-line program; tests inject their own. */
export type Machine = Readonly<{
  env: Readonly<Record<string, string | undefined>>
  stdin: AsyncIterable<unknown> & Readonly<{ isTTY?: boolean | undefined }>
  stdout: Output
  stderr: Output
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal
  clock: Clock
  random: Random
  /** Default settings file, read if it exists and --config is not given. */
  usualSettings?: string
}>

/** Global options of every command. */
export type Globals = Readonly<{ config?: string; json?: boolean }>

/** Prints the result as JSON with --json, otherwise as text. */
export function print(
  { stdout }: Pick<Machine, 'stdout'>,
  { json }: Globals,
  { result, words }: Readonly<{ result: unknown; words: string }>,
): void {
  stdout.write(`${json ? JSON.stringify(result, null, 2) : words}\n`)
}

/** Used for terminals that report a width of 0. */
const defaultColumns = 80

type Terminal = Readonly<{ isTTY?: boolean | undefined; columns?: number | undefined }>

/** Width of a terminal or COLUMNS; otherwise infinite, so that text for other programs is never wrapped. */
export const widthOf = ({ isTTY, columns }: Terminal, env: Readonly<Record<string, string | undefined>>): number =>
  isTTY ? columns || defaultColumns : Number(env.COLUMNS) || Number.POSITIVE_INFINITY

/** An invalid command line, with the help command to try. */
class Mistake extends Problem {
  readonly help: string

  constructor(message: string, help: string) {
    super('USAGE', message)
    this.help = help
  }
}

/** Commander's error as one sentence. */
export const usageErrorText = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')

/** Help is wrapped at 120 columns at most, and only on a terminal. */
const helpWidthOf = (stream: Machine['stdout'], env: Machine['env']): number => {
  const width = widthOf(stream, env)
  return Number.isFinite(width) ? Math.min(width, 120) : width
}

/** With a smaller minimum commander would not wrap help beside long names. */
export const minHelpColumns = 20

type Spoken = Pick<Machine, 'stdout' | 'stderr' | 'env'>

/** Output settings of commander: help as wide as its stream; errors are printed by the caller. */
export const outputOf = (program: Command, { stdout, stderr, env }: Spoken) => ({
  writeOut: (text: string) => stdout.write(text),
  // Help above an error is omitted with --json.
  writeErr: (text: string) => (program.opts().json ? undefined : stderr.write(text)),
  getOutHelpWidth: () => helpWidthOf(stdout, env),
  getErrHelpWidth: () => helpWidthOf(stderr, env),
  outputError: () => undefined,
})

/** Sends help to the machine's streams and throws usage errors as USAGE problems. */
export function connectOutput(program: Command, machine: Spoken): Command {
  const output = outputOf(program, machine)
  const join = (command: Command, typed: string): void => {
    command
      .configureOutput(output)
      .configureHelp({ minWidthToWrap: minHelpColumns })
      .exitOverride((error) => {
        throw error.exitCode === 0 ? error : new Mistake(usageErrorText(error), `${typed} --help`)
      })
    for (const below of command.commands) join(below, `${typed} ${below.name()}`)
  }
  join(program, program.name())
  return program
}

/** Prints a problem to stderr, wrapped to the terminal, or as one JSON line. Returns its exit code. */
export function printProblem({ stderr, env }: Pick<Machine, 'stderr' | 'env'>, found: Problem, json: boolean): ExitCode {
  const { message, code, details = [] } = found
  const unsaid = details.map(({ path, reason }) => `${path} ${reason}`).filter((line) => !message.includes(line))
  const listed = details.length > 1 ? unsaid.map((line) => `  ${printable(line)}`) : []
  const next = found instanceof Mistake ? [`next:  ${found.help}`] : []
  const lines = [`error: ${printable(message)} [${code}]`, ...listed, ...next].join('\n')
  stderr.write(`${json ? JSON.stringify(found.toBody()) : fold(lines, widthOf(stderr, env))}\n`)
  return found.exit
}

/** Result of one doctor check, with a fix unless it passed. */
export type Check = Readonly<{ name: string; state: 'ok' | 'warn' | 'failed'; says: string; mend?: string }>

export const passed = (name: string, says: string): Check => ({ name, state: 'ok', says })
/** Works now, but will cause a failure later. */
export const warning = (name: string, says: string, fix: string): Check => ({ name, state: 'warn', says, mend: fix })
export const failed = (name: string, says: string, fix: string): Check => ({ name, state: 'failed', says, mend: fix })

const marks = { ok: '✓', warn: '!', failed: '✗' } as const satisfies Record<Check['state'], string>

/** Prints one line per check. Exit code 1 when a check failed. */
export function printChecks(
  machine: Machine,
  options: Globals,
  { checks, nameColumns }: Readonly<{ checks: readonly Check[]; nameColumns: number }>,
): ExitCode {
  const width = widthOf(machine.stdout, machine.env)
  const lineOf = ({ name, state, says, mend: fix }: Check) => {
    const found = foldBeside(`${marks[state]} ${name.padEnd(nameColumns)} `, says, width)
    return fix ? `${found}\n${foldBeside(`  ${''.padEnd(nameColumns)} fix: `, fix, width)}` : found
  }
  const failures = checks.filter(({ state }) => state === 'failed').length
  const warnings = checks.filter(({ state }) => state === 'warn').length
  const sum = failures + warnings === 0 ? 'All checks passed.' : `${plural(failures, 'failure')}, ${plural(warnings, 'warning')}`
  print(machine, options, { result: { checks }, words: `${checks.map(lineOf).join('\n')}\n\n${sum}` })
  return failures > 0 ? 1 : 0
}
