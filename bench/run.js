// Runs the benchmarks and prints one table: what was measured, against what, and what was to be reached. Names pick some: `node bench/run.js limiter`.
// `--write` runs all and writes docs/benchmarks.md. Exits with 1 when something was missed, and with 2 when nothing was but not all could be run here.
// Ratios are taken in one run on one machine, so they mean the same everywhere; absolute figures name the machine.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { bareNode, hourOf } from './bare-node.js'
import { isQuick } from './size.js'

/** Each under the name of its file. */
const benchmarks = {
  'cli-help': async () => (await import('./cli-help.js')).cliHelp,
  boot: async () => (await import('./boot.js')).boot,
  boards: async () => (await import('./boards.js')).boards,
  'idle-daemon': async () => (await import('./idle-daemon.js')).idleDaemon,
  'idle-agent': async () => (await import('./idle-agent.js')).idleAgent,
  'followed-logs': async () => (await import('./followed-logs.js')).followedLogs,
  'route-throughput': async () => (await import('./route-throughput.js')).routeThroughput,
  'bootstrap-throughput': async () => (await import('./bootstrap-throughput.js')).bootstrapThroughput,
  'anonymous-load': async () => (await import('./anonymous-load.js')).anonymousLoadBench,
  'login-overhead': async () => (await import('./login-overhead.js')).loginOverhead,
  'event-fanout': async () => (await import('./event-fanout.js')).eventFanout,
  'stream-restart': async () => (await import('./stream-restart.js')).streamRestart,
  'chat-triggers': async () => (await import('./chat-triggers.js')).chatTriggers,
  'registry-scale': async () => (await import('./registry-scale.js')).registryScale,
  'fleet-scale': async () => (await import('./fleet-scale.js')).fleetScale,
  'rollout-makespan': async () => (await import('./rollout-makespan.js')).rolloutMakespan,
  'rollout-board': async () => (await import('./rollout-board.js')).rolloutBoard,
  runs: async () => (await import('./runs.js')).runs,
  payments: async () => (await import('./payments.js')).payments,
  'snapshot-overhead': async () => (await import('./snapshot-overhead.js')).snapshotOverhead,
  'snapshot-verification': async () => (await import('./snapshot-verification.js')).snapshotVerification,
  sandbox: async () => (await import('./sandbox.js')).sandbox,
  scan: async () => (await import('./scan.js')).scan,
  'update-downtime': async () => (await import('./update-downtime.js')).updateDowntime,
  'import-downtime': async () => (await import('./import-downtime.js')).importDowntime,
  'box-health': async () => (await import('./box-health.js')).boxHealth,
  console: async () => (await import('./console.js')).webConsole,
  'module-load': async () => (await import('./module-load.js')).moduleLoad,
  'module-installations': async () => (await import('./module-installations.js')).moduleInstallations,
  'module-proxy': async () => (await import('./module-proxy.js')).moduleProxy,
  'hostile-modules': async () => (await import('./hostile-modules.js')).hostileModules,
}

const [named, isWritten] = [process.argv.slice(2).filter((one) => !one.startsWith('--')), process.argv.includes('--write')]
const unknown = named.filter((name) => !(name in benchmarks))
if (unknown.length > 0 || (isWritten && (named.length > 0 || isQuick))) {
  console.error(`names are: ${Object.keys(benchmarks).join(', ')}; --write goes with all of them, and not with TENANTRY_BENCH=quick`)
  process.exit(3)
}

const inChild = 'TENANTRY_BENCH_CHILD'

function verdictOf(ok) {
  if (isQuick) return 'quick'
  if (ok === undefined) return 'not run'
  return ok ? 'reached' : 'MISSED'
}

/**
 * The rows of one benchmark, in a process of its own: the memory and the compiled code of those before it would be measured too.
 * @param {string} name
 */
async function rowsOf(name) {
  const child = fork(fileURLToPath(import.meta.url), [name], { env: { ...process.env, [inChild]: '1' } })
  const rows = []
  child.on('message', (/** @type {any[]} */ sent) => rows.push(...sent))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${name} failed`)
  return rows
}

if (process.env[inChild]) {
  const benchmark = await benchmarks[/** @type {keyof typeof benchmarks} */ (named[0])]()
  const rows = await benchmark()
  await new Promise((sent) => process.send?.(rows, sent))
  process.exit()
}

const begin = bareNode()
const [rows, failed] = [[], []]
for (const name of Object.keys(benchmarks)) {
  if (named.length > 0 && !named.includes(name)) continue
  const startedMs = performance.now()
  try {
    rows.push(...(await rowsOf(name)))
  } catch (error) {
    failed.push({ what: name, measured: 'failed', reach: '', ok: undefined })
    console.error(error)
  }
  console.error(`${name}: ${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
}

const heads = ['what', 'measured', 'to reach', '']
const cellsOf = ({ what, measured, reach, ok }) => [what, measured, reach, verdictOf(ok)]
const tableOf = (cells, pad) => {
  const line = (row) => `| ${row.map(pad).join(' | ')} |`
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...cells.map(line)].join('\n')
}
const cells = [...rows, ...failed].map(cellsOf)
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
process.exitCode =
  failed.length > 0 ? 1 : isQuick ? 0 : rows.some(({ ok }) => ok === false) ? 1 : rows.some(({ ok }) => ok === undefined) ? 2 : 0
