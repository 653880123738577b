import { Command, CommanderError } from 'commander'
import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import { systemClock } from '../../node/clock.ts'
import { connectOutput, printProblem } from '../../node/command-line.ts'
import { buildVersion } from '../../node/package.ts'
import { systemRandom } from '../../node/random.ts'
import type { Machine } from './settings.ts'

/** Default settings file, so that commands typed on a host use the running agent's settings. */
const usualSettings = '/etc/tenantry/tenantry-agent.yaml'

/** For what a stopped program still writes. */
const lastWordsMs = 1000

/** Runs `tenantry-agent`. The first SIGINT or SIGTERM drains it, the second ends it at once. */
export async function main(): Promise<ExitCode> {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const { env, stdin, stdout, stderr } = process
  const machine = { env, stdin, stdout, stderr, signal: ending.signal, clock: systemClock, random: systemRandom, usualSettings }
  const exit = await runProgram(process.argv.slice(2), machine)
  // A call of a program that hangs in a container would hold a stopped agent.
  if (ending.signal.aborted) setTimeout(() => process.exit(exit), lastWordsMs).unref()
  return exit
}

type Work = (machine: Machine, ...input: never[]) => Promise<ExitCode>

/** Runs one command line and returns its exit code. Never throws. */
export async function runProgram(argv: readonly string[], machine: Machine): Promise<ExitCode> {
  let exit: ExitCode = 0
  // Commands are imported when they run, so that `--help` stays fast.
  const act =
    (load: () => Promise<Work>) =>
    async (...input: unknown[]) => {
      const command = input.at(-1) as Command
      const named = input.slice(0, -2)
      exit = await (await load())(machine, ...([...named, command.optsWithGlobals()] as never[]))
    }
  try {
    await build(machine, act).parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    return fail(machine, error, argv.includes('--json'))
  }
}

type Act = (load: () => Promise<Work>) => (...input: unknown[]) => Promise<void>

function build(machine: Machine, act: Act): Command {
  const program = new Command('tenantry-agent')
    .description('Tenantry agent: runs box commands on this host and commits or rolls back updates autonomously')
    .version(buildVersion(), '--version')
    .option('--config <file>', 'settings file (default: /etc/tenantry/tenantry-agent.yaml); environment variables override it')
    .option('--json', 'print results as JSON')
  program
    .command('enrol')
    .description('Enrol this machine as a host (token from `tenantry hosts invite`)')
    .option('--url <url>', 'URL of the daemon (its publicUrl)')
    .option('--token-file <file>', 'read the token from the first line of a file; - is stdin')
    .option('--anew', 'replace the enrolment of a revoked or frozen host')
    .action(act(async () => (await import('./enrol.ts')).enrol))
  program
    .command('run')
    .description('Run the agent until SIGTERM')
    .action(act(async () => (await import('./run.ts')).run))
  program
    .command('rotate-key')
    .description('Replace the key of this agent')
    .action(act(async () => (await import('./enrol.ts')).rotateKeyNow))
  program
    .command('doctor')
    .description("Check the agent's dependencies and print fixes")
    .action(act(async () => (await import('./doctor.ts')).doctor))
  const box = program.command('box').description('Manage boxes of this host; works without the daemon')
  box
    .command('list')
    .description('List the boxes of this host')
    .action(act(async () => (await import('./box-queries.ts')).boxList))
  box
    .command('show')
    .argument('<slug>')
    .description('Show a box and its containers')
    .action(act(async () => (await import('./box-queries.ts')).boxShow))
  box
    .command('versions')
    .argument('<slug>')
    .description('Show the installed versions of a box')
    .action(act(async () => (await import('./box-queries.ts')).boxVersions))
  addLooks(box, act)
  addChanges(box, act)
  return connectOutput(program, machine)
}

function addLooks(box: Command, act: Act): void {
  box
    .command('probe')
    .argument('<slug>')
    .description('Probe the servers of a box with test writes (exit code 1 on failure)')
    .action(act(async () => (await import('./box-queries.ts')).boxProbe))
  box
    .command('logs')
    .argument('<slug>')
    .option('--service <name...>', 'edge, synapse, postgres or minio (default: all)')
    .option('--lines <count>', 'number of newest lines', '200')
    .option('--since <time>', 'only lines after this time')
    .description('Show logs of the services of a box, ordered by time')
    .action(act(async () => (await import('./box-queries.ts')).boxLogs))
  box
    .command('fence')
    .description('Show the fence of a box')
    .command('status')
    .argument('<slug>')
    .description('Show whether a box is fenced, by which command and since when')
    .action(act(async () => (await import('./box-queries.ts')).boxFence))
}

function addChanges(box: Command, act: Act): void {
  const maintenance = box.command('maintenance').description('Enter or leave maintenance mode')
  maintenance
    .command('on')
    .argument('<slug>')
    .requiredOption('--reason <text>', 'reason, shown in refused updates')
    .description('Enter maintenance: users get 503 "back shortly"')
    .action(act(async () => (await import('./box-changes.ts')).boxMaintenanceOn))
  maintenance
    .command('off')
    .argument('<slug>')
    .description('Leave maintenance')
    .action(act(async () => (await import('./box-changes.ts')).boxMaintenanceOff))
  box
    .command('unfence')
    .argument('<slug>')
    .option('--confirm <slug>', 'repeat the slug to confirm without a prompt')
    .description('Lift the fence after a failed rollback')
    .action(act(async () => (await import('./box-changes.ts')).boxUnfence))
  box
    .command('release')
    .argument('<slug>')
    .option('--confirm <slug>', 'repeat the slug to confirm without a prompt')
    .description('Stop observing a box; its stack stays unchanged')
    .action(act(async () => (await import('./box-changes.ts')).boxRelease))
}

function fail(machine: Machine, error: unknown, json: boolean): ExitCode {
  // Commander throws for --help and --version; usage errors arrive as problems.
  if (error instanceof CommanderError) return 0
  const found = isProblem(error) ? error : problem('INTERNAL', `Internal error of tenantry-agent: ${(error as Error)?.stack ?? error}`)
  return printProblem(machine, found, json)
}
