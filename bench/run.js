// Runs the benchmarks and prints one table: what was measured, against what, and what was to be reached. Names pick some: `node bench/run.js limiter`.
// `--write` runs all and writes docs/benchmarks.md. Exits with 1 when something was missed, and with 2 when nothing was but not all could be run here.
// Ratios are taken in one run on one machine, so they mean the same everywhere; absolute figures name the machine.
import { writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { anonymousLoadBench } from './anonymous-load.js'
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
import { loginOverhead } from './login-overhead.js'
import { moduleInstallations } from './module-installations.js'
import { moduleLoad } from './module-load.js'
import { moduleProxy } from './module-proxy.js'
import { payments } from './payments.js'
import { registryScale } from './registry-scale.js'
import { rolloutBoard } from './rollout-board.js'
import { rolloutMakespan } from './rollout-makespan.js'
import { routeThroughput } from './route-throughput.js'
import { runs } from './runs.js'
import { sandbox } from './sandbox.js'
import { scan } from './scan.js'
import { isQuick } from './size.js'
import { snapshotOverhead } from './snapshot-overhead.js'
import { snapshotVerification } from './snapshot-verification.js'
import { streamRestart } from './stream-restart.js'
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
  'anonymous-load': anonymousLoadBench,
  'login-overhead': loginOverhead,
  'event-fanout': eventFanout,
  'stream-restart': streamRestart,
  'chat-triggers': chatTriggers,
  'registry-scale': registryScale,
  'fleet-scale': fleetScale,
  'rollout-makespan': rolloutMakespan,
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
if (unknown.length > 0 || (isWritten && (named.length > 0 || isQuick))) {
  console.error(`names are: ${Object.keys(benchmarks).join(', ')}; --write goes with all of them, and not with TENANTRY_BENCH=quick`)
  process.exit(3)
}

function verdictOf(ok) {
  if (isQuick) return 'quick'
  if (ok === undefined) return 'not run'
  return ok ? 'reached' : 'MISSED'
}

const begin = bareNode()
const rows = []
for (const [name, benchmark] of Object.entries(benchmarks)) {
  if (named.length > 0 && !named.includes(name)) continue
  const startedMs = performance.now()
  rows.push(...(await benchmark()))
  console.error(`${name}: ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}

const heads = ['what', 'measured', 'to reach', '']
const cellsOf = ({ what, measured, reach, ok }) => [what, measured, reach, verdictOf(ok)]
const tableOf = (cells, pad) => {
  const line = (row) => `| ${row.map(pad).join(' | ')} |`
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...cells.map(line)].join('\n')
}
const cells = rows.map(cellsOf)
const widths = heads.map((head, n) => Math.max(head.length, ...cells.map((row) => row[n].length)))
const hour = hourOf(begin, bareNode())
console.log(`${hour}\n\n${tableOf(cells, (cell, n) => cell.padEnd(widths[n]))}`)

const load = loadavg().map((one) => one.toFixed(1))
const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node.js ${process.version}`
const pageOf = (measured) => `# Benchmarks

All rows are of one run of \`npm run bench -- --write\`, which writes this page: a row that it does not measure is not
here. \`node bench/run.js <name>…\` runs some of them after a build; the names are those of the files in \`bench/\`.

Machine: ${machine}. Load average at the end: ${load.join(', ')}.
${hour}
Compare absolute figures of two runs by these: if Node.js itself took 1.5 times as long, so did all CPU times.

CPU times, and the interleaved comparisons (bootstrap, fan-out, registry), are valid on a busy machine. All others need
an idle one: throughput, memory, pick-up times, logins, snapshots and restores.

${tableOf(measured.map(cellsOf), (cell) => cell)}
`
if (isWritten) writeFileSync(new URL('../docs/benchmarks.md', import.meta.url), pageOf(rows.filter(({ ok }) => ok !== undefined)))
process.exitCode = isQuick ? 0 : rows.some(({ ok }) => ok === false) ? 1 : rows.some(({ ok }) => ok === undefined) ? 2 : 0
