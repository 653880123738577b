import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { damagedFolder, folderStore, memoryStore, openJournal } from '../../../src/agent/journal/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

const anUpdate = { commandId: 'ro_1.box_1.1.update', kind: 'tenant-box.update', slug: 'north-school', payload: { deadlineMs: 1 } }
const intent = { elapsedMs: 0, step: 'fence', mark: 'intent' } as const
const day = 86_400_000

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenantry-journal-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe.each([
  ['in a folder', () => folderStore(folder)],
  ['in memory', memoryStore],
])('a journal %s', (_, makeStore) => {
  test('a command begun is open until it is closed, also for the next agent', async () => {
    const deps = { store: makeStore(), clock: manualClock() }
    const first = await openJournal(deps)
    await first.begin(anUpdate)
    await first.append(anUpdate.commandId, intent)
    const second = await openJournal(deps)
    expect(await second.open()).toMatchObject([{ ...anUpdate, entries: [intent] }])
    await second.close(anUpdate.commandId, { outcome: 'committed' })
    expect(await (await openJournal(deps)).open()).toEqual([])
  })

  test('a command given twice is the same record, with its result', async () => {
    const journal = await openJournal({ store: makeStore(), clock: manualClock() })
    await journal.begin(anUpdate)
    await journal.close(anUpdate.commandId, { outcome: 'committed' })
    await journal.close(anUpdate.commandId, { outcome: 'failed' })
    expect((await journal.begin(anUpdate)).closed?.result).toEqual({ outcome: 'committed' })
  })

  test('an id that was given to another box is refused', async () => {
    const journal = await openJournal({ store: makeStore(), clock: manualClock() })
    await journal.begin(anUpdate)
    await expect(journal.begin({ ...anUpdate, slug: 'south-school' })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('a result is kept until the daemon acknowledged it, and then for some days', async () => {
    const deps = { store: makeStore(), clock: manualClock() }
    const journal = await openJournal(deps)
    await journal.begin(anUpdate)
    await journal.close(anUpdate.commandId, {})
    await deps.clock.advance(60 * day)
    expect(await (await openJournal(deps)).unacknowledged()).toHaveLength(1)
    await journal.acknowledge(anUpdate.commandId)
    expect(await journal.unacknowledged()).toEqual([])
    await deps.clock.advance(29 * day)
    expect(await (await openJournal(deps)).find(anUpdate.commandId)).toBeDefined()
    await deps.clock.advance(2 * day)
    expect(await (await openJournal(deps)).find(anUpdate.commandId)).toBeUndefined()
  })

  test('the records of a box stay as long as it is fenced', async () => {
    const deps = { store: makeStore(), clock: manualClock() }
    const journal = await openJournal(deps)
    for (const { commandId, slug } of [anUpdate, { commandId: 'other', slug: 'south-school' }]) {
      await journal.begin({ ...anUpdate, commandId, slug })
      await journal.close(commandId, { outcome: 'rollback_failed' })
      await journal.acknowledge(commandId)
    }
    await deps.clock.advance(400 * day)
    const fenced = await openJournal({ ...deps, isFenced: async (slug) => slug === anUpdate.slug })
    expect((await fenced.all()).map(({ slug }) => slug)).toEqual([anUpdate.slug])
    expect(await (await openJournal({ ...deps, isFenced: async () => false })).all()).toEqual([])
  })
})

describe('a damaged journal', () => {
  const fileOf = async () => join(folder, (await readdir(folder))[0] as string)

  test('a torn last line is left out and what stands before it is kept', async () => {
    const deps = { store: folderStore(folder), clock: manualClock() }
    const journal = await openJournal(deps)
    await journal.begin(anUpdate)
    await journal.append(anUpdate.commandId, intent)
    await appendFile(await fileOf(), '{"entry":{"at":"2026-')
    expect(await (await openJournal(deps)).open()).toMatchObject([{ entries: [intent] }])
  })

  test('an unfinished write of a killed agent is not a journal', async () => {
    await writeFile(join(folder, '.1234.tmp'), '{"he')
    expect(await (await openJournal({ store: folderStore(folder), clock: manualClock() })).open()).toEqual([])
  })

  test('a file with a torn first line is set aside and reported; its command is refused, the others continue', async () => {
    const deps = { store: folderStore(folder), clock: manualClock() }
    const journal = await openJournal(deps)
    await journal.begin(anUpdate)
    await journal.begin({ ...anUpdate, commandId: 'other', slug: 'south-school' })
    await writeFile(join(folder, `${anUpdate.commandId}.jsonl`), '{"he')
    const damaged: string[] = []
    const opened = () => openJournal({ ...deps, onDamaged: (path) => damaged.push(path) })
    expect(await (await opened()).open()).toMatchObject([{ commandId: 'other' }])
    expect(await readFile(join(damagedFolder(folder), `${anUpdate.commandId}.jsonl`), 'utf8')).toBe('{"he')
    const again = (await opened()).begin(anUpdate)
    await expect(again).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringContaining(anUpdate.slug) })
    expect(damaged).toEqual([join(damagedFolder(folder), `${anUpdate.commandId}.jsonl`)])
    await rm(damagedFolder(folder), { recursive: true })
  })

  test('a command id is never a path', async () => {
    const journal = await openJournal({ store: folderStore(folder), clock: manualClock() })
    await journal.begin({ ...anUpdate, commandId: '../../etc/x' })
    expect(await readdir(folder)).toEqual(['..%2F..%2Fetc%2Fx.jsonl'])
    expect(await readFile(await fileOf(), 'utf8')).toContain('../../etc/x')
  })
})
