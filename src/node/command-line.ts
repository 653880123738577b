import type { Command, CommanderError } from 'commander'
import { type ExitCode, fold, Problem, printable } from '../core/kit/index.ts'
import type { Machine } from './machine.ts'
import { widthOf } from './terminal-width.ts'

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
