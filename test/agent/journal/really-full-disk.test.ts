import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { fileDiskReserve, folderStore, isFullDisk, openJournal, withDiskReserve } from '../../../src/agent/journal/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'

// A disk that is really full, where the user of the test may mount one.

/** A file system of its own; undefined where this user may not mount one. */
function aSmallDisk(size: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmdirSync(folder)
    return undefined
  }
}

const disk = aSmallDisk('96m')
afterAll(() => {
  if (disk === undefined) return
  execFileSync('umount', [disk])
  rmdirSync(disk)
})

const anUpdate = { commandId: 'ro_1.box_1.1.update', kind: 'tenant-box.update', slug: 'north-school', payload: { deadlineMs: 1 } }
const entryOf = (step: string) => ({ elapsedMs: 0, step, mark: 'intent' }) as const

function fill(file: string): void {
  const bytes = Buffer.alloc(4096)
  for (;;)
    try {
      writeFileSync(file, bytes, { flag: 'a' })
    } catch {
      return
    }
}

test.skipIf(disk === undefined)('a journal on a disk that is really full keeps its records, and continues with its reserve', async () => {
  const folder = join(disk as string, 'journal')
  const plain = folderStore(folder)
  const reserve = fileDiskReserve(join(disk as string, 'reserve'))
  const clock = manualClock()
  await reserve.refill()
  const journal = await openJournal({ store: plain, clock })
  await journal.begin(anUpdate)
  await journal.append(anUpdate.commandId, entryOf('fence'))
  fill(join(disk as string, 'filler'))

  const long = { ...entryOf('stop'), detail: 'x'.repeat(200_000) }
  const refused = await journal.append(anUpdate.commandId, long as never).catch((error: unknown) => error)
  expect(isFullDisk(refused)).toBe(true)
  // Nothing half written: the next agent reads the record as it was, and no unfinished file uses the space.
  expect((await (await openJournal({ store: plain, clock })).open())[0]?.entries).toMatchObject([entryOf('fence')])
  expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([])

  const later = await openJournal({ store: withDiskReserve(plain, reserve), clock })
  await later.append(anUpdate.commandId, entryOf('stop'))
  await later.close(anUpdate.commandId, { outcome: 'committed' })
  expect((await (await openJournal({ store: plain, clock })).find(anUpdate.commandId))?.closed?.result).toEqual({ outcome: 'committed' })
})
