import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rehearseInWorker } from '../../src/daemon/rehearse-in-worker.ts'

/** Writes into its scratch folder, names it in the file of the input, and never ends. */
const endless = `
  import { renameSync, writeFileSync } from 'node:fs'
  import { workerData } from 'node:worker_threads'
  writeFileSync(workerData.scratch + '/box', '')
  writeFileSync(workerData.report + '.new', workerData.scratch)
  renameSync(workerData.report + '.new', workerData.report)
  setInterval(() => undefined, 1000)`

test('a rehearsal that is ended leaves nothing on the RAM disk', async () => {
  const report = join(await mkdtemp(join(tmpdir(), 'tenantry-test-')), 'scratch')
  const rehearse = rehearseInWorker('sqlite::memory:', new URL(`data:text/javascript,${encodeURIComponent(endless)}`))
  const leave = new AbortController()
  const ended = rehearse({ report } as never, leave.signal)
  await expect.poll(() => existsSync(report)).toBe(true)
  const scratch = readFileSync(report, 'utf8')
  expect(existsSync(join(scratch, 'box'))).toBe(true)
  leave.abort(new Error('the caller is gone'))
  await expect(ended).rejects.toThrow('the caller is gone')
  await expect.poll(() => existsSync(scratch)).toBe(false)
})
