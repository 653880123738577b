// Runs the benchmarks and prints one table: what was measured, against what, and what was to be reached. Names pick some: `node bench/run.js limiter`.
// Exits with 1 when something was missed, and with 2 when nothing was but not all could be run here.
// Ratios are taken in one run on one machine, so they mean the same everywhere; absolute figures name the machine.
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { bareNode, hourOf } from './bare-node.js'
import { boards } from './boards.js'
import { boot } from './boot.js'
import { bootstrapThroughput } from './bootstrap-throughput.js'
import { chatTriggers } from './chat-triggers.js'
import { cliHelp } from './cli-help.js'
import { webConsole } from './console.js'
import { eventFanout } from './event-fanout.js'
import { fleetScale } from './fleet-scale.js'
import { hostileModules } from './hostile-modules.js'
import { idleAgent } from './idle-agent.js'
import { idleDaemon } from './idle-daemon.js'
import { limiter } from './limiter.js'
import { loginOverhead } from './login-overhead.js'
import { moduleInstallations } from './module-installations.js'
import { moduleLoad } from './module-load.js'
import { moduleProxy } from './module-proxy.js'
import { payments } from './payments.js'
import { registryScale } from './registry-scale.js'
import { rolloutBoard } from './rollout-board.js'
import { rolloutEngine } from './rollout-engine.js'
import { rolloutMakespan } from './rollout-makespan.js'
import { routeThroughput } from './route-throughput.js'
import { runs } from './runs.js'
import { sandbox } from './sandbox.js'
import { scan } from './scan.js'
import { snapshotOverhead } from './snapshot-overhead.js'
import { snapshotVerification } from './snapshot-verification.js'
import { updateDowntime } from './update-downtime.js'

/** Each under the name of its file. */
const benchmarks = {
  'cli-help': cliHelp,
  boot,
  boards,
  'idle-daemon': idleDaemon,
  'idle-agent': idleAgent,
  'route-throughput': routeThroughput,
  'bootstrap-throughput': bootstrapThroughput,
  'login-overhead': loginOverhead,
  limiter,
  'event-fanout': eventFanout,
  'chat-triggers': chatTriggers,
  'registry-scale': registryScale,
  'fleet-scale': fleetScale,
  'rollout-makespan': rolloutMakespan,
  'rollout-engine': rolloutEngine,
  'rollout-board': rolloutBoard,
  runs,
  payments,
  'snapshot-overhead': snapshotOverhead,
  'snapshot-verification': snapshotVerification,
  sandbox,
  scan,
  'update-downtime': updateDowntime,
  console: webConsole,
  'module-load': moduleLoad,
  'module-installations': moduleInstallations,
  'module-proxy': moduleProxy,
  'hostile-modules': hostileModules,
}

const [named, isWritten] = [process.argv.slice(2).filter((one) => !one.startsWith('--')), process.argv.includes('--write')]
const unknown = named.filter((name) => !(name in benchmarks))
if (unknown.length > 0 || (isWritten && named.length > 0)) {
  console.error(`names are: ${Object.keys(benchmarks).join(', ')}; --write goes with all of them`)
  process.exit(3)
}

function verdictOf(ok) {
  if (ok === undefined) return 'not run'
  return ok ? 'reached' : 'MISSED'
}

const begin = bareNode()
const rows = []
for (const [name, benchmark] of Object.entries(benchmarks)) {
  if (named.length === 0 || named.includes(name)) rows.push(...(await benchmark()))
}

const cells = rows.map(({ what, measured, reach, ok }) => [what, measured, reach, verdictOf(ok)])
const heads = ['what', 'measured', 'to reach', '']
const widths = heads.map((head, n) => Math.max(head.length, ...cells.map((row) => row[n].length)))
const tableOf = (pad) => {
  const line = (row) => `| ${row.map(pad).join(' | ')} |`
  return [line(heads), `|${widths.map(() => '---').join('|')}|`, ...cells.map(line)].join('\n')
}
const hour = hourOf(begin, bareNode())
console.log(`${hour}\n\n${tableOf((cell, n) => cell.padEnd(widths[n]))}`)

const notes = `\`node bench/run.js <name>…\` runs some of them after a build; the names are those of the files in \`bench/\`.
CPU times, and the interleaved comparisons (bootstrap, fan-out, registry), are valid on a busy machine. All others need
an idle one: throughput, memory, pick-up times, logins, snapshots and restores. \`not run\` means that something was
missing: \`redis-server\`, DBOS (\`BENCH_DBOS\`), the test bed of real boxes, or a limit of open files for 5,000 streams.

${hour}
Compare absolute figures of two runs by these: if Node.js itself took 1.5 times as long, so did all CPU times.`

if (isWritten) {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node.js ${process.version}`
  writeFileSync(
    new URL('../docs/benchmarks.md', import.meta.url),
    `# Benchmarks\n\nMade by \`npm run bench -- --write\`. Machine: ${machine}.\n${notes}\n\n${tableOf((cell) => cell)}\n`,
  )
}
process.exitCode = rows.some(({ ok }) => ok === false) ? 1 : rows.some(({ ok }) => ok === undefined) ? 2 : 0
