import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSandbox } from '../../../src/node/sandbox/index.ts'
import { runCode } from './module-runs.ts'

/** A thread that fills its heap. */
const worker = `
export async function runModule({ port, settings }) {
  const kept = []
  while (settings.fill) kept.push(new Array(100_000).fill(kept.length))
  port.close()
  return { outcome: 'done', value: null, ms: 1, interpreterMs: 1, calls: 0, log: [], violations: [] }
}`

async function aSandbox() {
  const workerFile = join(await mkdtemp(join(tmpdir(), 'tenantry-worker-')), 'worker.mjs')
  await writeFile(workerFile, worker)
  const sandbox = openSandbox({ threads: 1, workerFile })
  onTestFinished(sandbox.close)
  const run = (fill: boolean, signal?: AbortSignal) => runCode(sandbox, '', { settings: { fill }, ...(signal ? { signal } : {}) })
  return run
}

test('a run that fills the memory of its thread breaks the limit of memory, and the next run has a thread', async () => {
  const run = await aSandbox()
  const { outcome, violations } = await run(true)
  expect([outcome, violations.map(({ kind }) => kind)]).toEqual(['limit', ['memory']])
  expect((await run(false)).outcome).toBe('done')
})

test('a thread that runs out of memory just when its run is ended ends no process', async () => {
  const run = await aSandbox()
  await run(false)
  const begunMs = performance.now()
  await run(true)
  const fullMs = performance.now() - begunMs
  for (let n = 0; n < 40; n++) {
    const hungUp = new AbortController()
    const ended = run(true, hungUp.signal).catch(() => undefined)
    await new Promise((passed) => setTimeout(passed, fullMs * (0.5 + n / 60)))
    hungUp.abort()
    await ended
  }
  await expect.poll(async () => (await run(false)).outcome).toBe('done')
})
