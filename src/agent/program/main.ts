import { Command, CommanderError } from 'commander'
import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import { systemClock } from '../../node/clock.ts'
import { speakThrough, tellProblem } from '../../node/command-line.ts'
import { packageVersion } from '../../node/package.ts'
import { systemRandom } from '../../node/random.ts'
import type { Machine } from './settings.ts'

/** Where a host has its settings: what a person types there is about the agent that runs, without naming them. */
const usualSettings = '/etc/tenantry/tenantry-agent.yaml'

/** `tenantry-agent` on this machine. The first SIGINT or SIGTERM asks it to drain, the second ends it at once. */
export async function main(): Promise<ExitCode> {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort())
  const { env, stdin, stdout, stderr } = process
  const machine = { env, stdin, stdout, stderr, signal: ending.signal, clock: systemClock, random: systemRandom, usualSettings }
  return runProgram(process.argv.slice(2), machine)
}

type Work = (machine: Machine, ...given: never[]) => Promise<ExitCode>

/** Runs one command line to its exit code. Nothing is thrown. */
export async function runProgram(argv: readonly string[], machine: Machine): Promise<ExitCode> {
  let exit: ExitCode = 0
  // What commands do is imported when they run: `--help` stays light.
  const act =
    (load: () => Promise<Work>) =>
    async (...given: unknown[]) => {
      const command = given.at(-1) as Command
      const named = given.slice(0, -2)
      exit = await (await load())(machine, ...([...named, command.optsWithGlobals()] as never[]))
    }
  try {
    await build(machine, act).parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    return fail(machine, error, argv.includes('--json'))
  }
}

type Act = (load: () => Promise<Work>) => (...given: unknown[]) => Promise<void>

function build(machine: Machine, act: Act): Command {
  const program = new Command('tenantry-agent')
    .description('The Tenantry agent: carries out box commands on this host, and decides alone whether an update stays')
    .version(packageVersion(), '--version')
    .option('--config <file>', 'settings (/etc/tenantry/tenantry-agent.yaml where there is one); environment variables win over it')
    .option('--json', 'print results as JSON')
  program
    .command('enrol')
    .description('make this machine a host of a daemon; the token of `tenantry hosts invite` comes from a file or stdin')
    .option('--url <url>', 'the daemon, as its publicUrl says')
    .option('--token-file <file>', 'take the token from the first line of a file; - is stdin')
    .option('--anew', 'replace an enrolment, after its host was revoked or frozen')
    .action(act(async () => (await import('./enrol.ts')).enrol))
  program
    .command('run')
    .description('run the agent until SIGTERM')
    .action(act(async () => (await import('./run.ts')).run))
  program
    .command('rotate-key')
    .description('replace the key of this agent; a running agent does it within half a minute')
    .action(act(async () => (await import('./enrol.ts')).rotateKeyNow))
  program
    .command('doctor')
    .description('look whether everything the agent stands on is well, and say how to mend what is not')
    .action(act(async () => (await import('./doctor.ts')).doctor))
  const box = program.command('box').description('The boxes of this host, seen from here; works while the daemon is away')
  box
    .command('list')
    .description('all boxes')
    .action(act(async () => (await import('./box-queries.ts')).boxList))
  box
    .command('show')
    .argument('<slug>')
    .description('one box and its containers')
    .action(act(async () => (await import('./box-queries.ts')).boxShow))
  box
    .command('versions')
    .argument('<slug>')
    .description('what runs in a box')
    .action(act(async () => (await import('./box-queries.ts')).boxVersions))
  addLooks(box, act)
  addChanges(box, act)
  return speakThrough(program, machine)
}

function addLooks(box: Command, act: Act): void {
  box
    .command('probe')
    .argument('<slug>')
    .description('ask all servers of a box whether they are well, by writing; exit code 1 when one is not')
    .action(act(async () => (await import('./box-queries.ts')).boxProbe))
  box
    .command('logs')
    .argument('<slug>')
    .option('--service <name...>', 'edge, synapse, postgres or minio; all when absent')
    .option('--lines <count>', 'the newest of them', '200')
    .option('--since <time>', 'only what came after this moment')
    .description('what the services of a box printed, in one order')
    .action(act(async () => (await import('./box-queries.ts')).boxLogs))
  box
    .command('fence')
    .description('the switch that closes the edge of a box')
    .command('status')
    .argument('<slug>')
    .description('whether the box is closed, by whom, and since when')
    .action(act(async () => (await import('./box-queries.ts')).boxFence))
}

function addChanges(box: Command, act: Act): void {
  const maintenance = box.command('maintenance').description('close a box for work on it, and open it again')
  maintenance
    .command('on')
    .argument('<slug>')
    .requiredOption('--reason <text>', 'what the work is; refusals of updates show it')
    .description('answer people with 503 and "back shortly" until it is over')
    .action(act(async () => (await import('./box-changes.ts')).boxMaintenanceOn))
  maintenance
    .command('off')
    .argument('<slug>')
    .description('open the box again')
    .action(act(async () => (await import('./box-changes.ts')).boxMaintenanceOff))
  box
    .command('unfence')
    .argument('<slug>')
    .option('--confirm <slug>', 'the name of the box once more, where nobody can be asked')
    .description('open a box that rests closed after a failed way back; read what it says before you do')
    .action(act(async () => (await import('./box-changes.ts')).boxUnfence))
  box
    .command('release')
    .argument('<slug>')
    .option('--confirm <slug>', 'the name of the box once more, where nobody can be asked')
    .description('forget a box that is only observed; nothing of it is touched')
    .action(act(async () => (await import('./box-changes.ts')).boxRelease))
}

function fail(machine: Machine, error: unknown, json: boolean): ExitCode {
  // Help and version are answers; every mistake comes as a problem.
  if (error instanceof CommanderError) return 0
  const found = isProblem(error) ? error : problem('INTERNAL', `a fault of this program: ${(error as Error)?.stack ?? error}`)
  return tellProblem(machine, found, json)
}
