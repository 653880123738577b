import { expect, test } from 'vitest'
import { memoryStore, openJournal } from '../../../src/agent/journal/index.ts'
import { pinSweeper } from '../../../src/agent/update/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

const hour = 3_600_000

async function aJournal() {
  const clock = manualClock()
  const journal = await openJournal({ store: memoryStore(), clock })
  const unpinned: string[] = []
  const engine = { unpin: async (label: string) => void unpinned.push(label) }
  const ended = async (commandId: string, kind: string, result: unknown = {}, slug = 'oak') => {
    await journal.begin({ commandId, kind, slug, payload: {} })
    await journal.close(commandId, result)
  }
  return { clock, journal, unpinned, ended, sweep: pinSweeper({ engine, journal, clock }) }
}

test('images of a prefetch are let go once two days passed without an update', async () => {
  const { clock, ended, sweep, unpinned } = await aJournal()
  await ended('p1', 'tenant-box.prefetch')
  await clock.advance(47 * hour)
  expect(await sweep()).toEqual([])
  await clock.advance(2 * hour)
  expect(await sweep()).toEqual(['oak'])
  expect(await sweep()).toEqual([])
  expect(unpinned).toEqual(['oak'])
})

test('a later prefetch of the box keeps them', async () => {
  const { clock, ended, sweep } = await aJournal()
  await ended('p1', 'tenant-box.prefetch')
  await clock.advance(40 * hour)
  await ended('p2', 'tenant-box.prefetch')
  await clock.advance(10 * hour)
  expect(await sweep()).toEqual([])
  await clock.advance(40 * hour)
  expect(await sweep()).toEqual(['oak'])
})

test('an open command of the box keeps them, one of another box does not', async () => {
  const { clock, ended, journal, sweep } = await aJournal()
  await ended('p1', 'tenant-box.prefetch')
  await ended('p2', 'tenant-box.prefetch', {}, 'elm')
  await journal.begin({ commandId: 'u1', kind: 'tenant-box.update', slug: 'oak', payload: {} })
  await clock.advance(49 * hour)
  expect(await sweep()).toEqual(['elm'])
  await journal.close('u1', { outcome: 'committed' })
  expect(await sweep()).toEqual(['oak'])
})

test.each([
  ['in quarantine after a failed rollback', { outcome: 'rollback_failed' }],
  ['at rest after a failed restore', { outcome: 'restore_failed' }],
  ['that was left open unproven', { outcome: 'failed', leftOpen: true }],
])('a box %s keeps what a person may need', async (_, result) => {
  const { clock, ended, sweep } = await aJournal()
  await ended('p1', 'tenant-box.prefetch')
  await ended('u1', 'tenant-box.update', result)
  await clock.advance(49 * hour)
  expect(await sweep()).toEqual([])
})
