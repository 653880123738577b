import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { memoryStore, openJournal } from '../../../src/agent/journal/index.ts'
import { sweepWork } from '../../../src/agent/update/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

let workFolder: string
beforeEach(async () => {
  workFolder = await mkdtemp(join(tmpdir(), 'tenantry-work-'))
})
afterEach(() => rm(workFolder, { recursive: true, force: true }))

test('only dumps that an open update or a failed rollback still needs are retained', async () => {
  const store = memoryStore()
  await store.write('damaged.jsonl', '{"he')
  const journal = await openJournal({ store, clock: manualClock() })
  const begin = (commandId: string) => journal.begin({ commandId, kind: 'tenant-box.update', slug: 'oak', payload: {} })
  await begin('open')
  for (const outcome of ['committed', 'rolled_back', 'rollback_failed']) {
    await begin(outcome)
    await journal.close(outcome, { outcome })
  }
  const names = ['open', 'committed', 'rolled_back', 'rolled_back.restored', 'rollback_failed', 'unknown', 'damaged']
  for (const name of names) await mkdir(join(workFolder, name))
  await sweepWork({ journal, workFolder })
  expect((await readdir(workFolder)).sort()).toEqual(['damaged', 'open', 'rollback_failed'])
})

test('what is named like no command stays, and keeps nothing else from being swept', async () => {
  const journal = await openJournal({ store: memoryStore(), clock: manualClock() })
  for (const name of ['%', 'kept by hand, 100%', 'unknown']) await mkdir(join(workFolder, name))
  expect(await sweepWork({ journal, workFolder })).toEqual(['unknown'])
  expect((await readdir(workFolder)).sort()).toEqual(['%', 'kept by hand, 100%'])
})

test('where no update ever was there is nothing to sweep', async () => {
  const journal = await openJournal({ store: memoryStore(), clock: manualClock() })
  expect(await sweepWork({ journal, workFolder: join(workFolder, 'none') })).toEqual([])
})
