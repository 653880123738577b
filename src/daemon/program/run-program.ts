import { Command, CommanderError } from 'commander'
import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import { connectOutput, type Machine, printProblem } from '../../node/command-line.ts'
import { buildVersion } from '../../node/package.ts'
import { registerOneShots } from './one-shots.ts'
import type { Act, Register } from './register.ts'

const registerServe: Register = (program, machine, act) => {
  program
    .command('serve')
    .description('Run the daemon')
    .action(act(async (options) => (await import('./serve.ts')).serveDaemon(machine, options)))
}

const commands: readonly Register[] = [registerServe, registerOneShots]

/** Runs one command line and returns its exit code. Never throws. */
export async function runProgram(argv: readonly string[], machine: Machine): Promise<ExitCode> {
  let exit: ExitCode = 0
  const act: Act =
    (work) =>
    async (...input) => {
      const command = input.at(-1) as Command
      exit = (await work(command.optsWithGlobals() as never, command.args)) ?? 0
    }
  try {
    await build(machine, act).parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    return fail(machine, error, argv.includes('--json'))
  }
}

function build(machine: Machine, act: Act): Command {
  const program = new Command('tenantryd')
    .description('The Tenantry daemon and its local administration')
    .version(buildVersion(), '--version')
    .option('--config <file>', 'settings file (environment variables take precedence)')
    .option('--json', 'print results as JSON')
  for (const register of commands) register(program, machine, act)
  return connectOutput(program, machine)
}

function fail(machine: Machine, error: unknown, json: boolean): ExitCode {
  // Commander throws for --help and --version; usage errors are problems.
  if (error instanceof CommanderError) return 0
  if (isInterrupt(error)) return 1
  const found = isProblem(error)
    ? error
    : problem('INTERNAL', `internal error: ${(error as Error)?.message ?? error}. fix: run with TENANTRY_DEBUG=1 for a stack trace`)
  if (machine.env.TENANTRY_DEBUG && error instanceof Error) machine.stderr.write(`${error.stack}\n`)
  return printProblem(machine, found, json)
}

/** Ctrl-C at a prompt. */
const isInterrupt = (error: unknown) => error instanceof Error && (error.name === 'ExitPromptError' || error.name === 'AbortPromptError')
