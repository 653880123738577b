import { runLimits } from '../dist/core/modules/index.js'
import { openSandbox } from '../dist/node/sandbox/index.js'
import { loadInterpreter } from '../dist/node/sandbox/interpreter.js'
import { runInInterpreter } from '../dist/node/sandbox/run.js'
import { median } from './bare-node.js'
import { sized } from './size.js'

// An empty handler on one warm thread of the pool, beside the same runs in this thread: interpreter, fresh context and `svc`, without a pool.

const maxMs = 5
const minShare = 1 / 3
const rounds = sized(5, 1)
const runsPerRound = sized(400, 5)

const code = `export const on = { 'space.created': async () => undefined }`
/** @type {import('../dist/node/sandbox/task.js').Run} */
const run = {
  files: { 'index.js': code },
  main: 'index.js',
  job: { type: 'event', event: { type: 'space.created', payload: {} } },
  settings: {},
  now: '2026-11-02T10:00:00.000Z',
}
const noCalls = async () => ({ value: null })

/** Runs a second. */
async function rateOf(work, count) {
  const begun = performance.now()
  await work(count)
  return (count * 1000) / (performance.now() - begun)
}

/** Duration of an empty run from call to result, and runs a second beside those of the bare interpreter. */
export async function sandbox() {
  const quickjs = await loadInterpreter(runLimits.memoryMb)
  const pool = openSandbox({ threads: 1 })
  const inSandbox = async (count) => {
    let left = count
    const worker = async () => {
      while (left-- > 0) await pool.run(run, noCalls)
    }
    await Promise.all([worker(), worker()])
  }
  const bare = async (count) => {
    for (let n = 0; n < count; n++) await runInInterpreter(quickjs, { ...run, limits: runLimits }, async () => ({ json: 'null' }))
  }
  try {
    await inSandbox(100)
    await bare(100)
    const times = []
    for (let n = 0; n < runsPerRound; n++) {
      const begun = performance.now()
      await pool.run(run, noCalls)
      times.push(performance.now() - begun)
    }
    const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]
    const rates = []
    for (let round = 0; round < rounds; round++) rates.push([await rateOf(inSandbox, runsPerRound), await rateOf(bare, runsPerRound)])
    const share = median(rates.map(([own, other]) => own / other))
    const [own, other] = [0, 1].map((at) => Math.round(median(rates.map((rate) => rate[at]))))
    return [
      {
        what: 'an empty module handler, from call to result, p95',
        measured: `${p95.toFixed(1)} ms`,
        reach: `at most ${maxMs} ms`,
        ok: p95 <= maxMs,
      },
      {
        what: 'module runs a second on one thread, beside the bare interpreter',
        measured: `${own} of ${other} (${share.toFixed(2)} ×)`,
        reach: `at least ${minShare.toFixed(2)} ×`,
        ok: share >= minShare,
      },
    ]
  } finally {
    await pool.close()
  }
}
