import { describe, expect, test } from 'vitest'
import { reserveBytes } from '../../../src/agent/backup/index.ts'
import { restoreStepsOfBox } from '../../../src/agent/restore/index.ts'
import { aDisk } from '../simulated/disks.ts'
import { mortal } from '../update/mortal.ts'
import { aLivedOnBox, type LivedOn } from './a-restore.ts'

const [databaseNow, fetchedBytes] = [7_000, 100]

/** A box whose work folder and whose volumes lie on disks of their own, and what a restore needs of both to the byte. */
async function onTwoDisks() {
  const free = { work: Number.NaN, volumes: Number.NaN }
  let world: LivedOn | undefined
  const isFetched = () => world?.counts.restore !== undefined
  const usedBytes = async (path: string) => {
    if (path.includes('.restored')) return isFetched() ? fetchedBytes : 0
    return path.includes('postgres') ? databaseNow : 500
  }
  const volumesFolder = () => world?.host.engine.volumesFolder()
  const diskOf = async (path: string) => (path.startsWith((await volumesFolder()) ?? '-') ? 'volumes' : 'work')
  const freeBytes = async (path: string) => reserveBytes + free[await diskOf(path)]
  world = await aLivedOnBox({ change: () => ({ disk: aDisk({ usedBytes, diskOf, freeBytes }) }) })
  const [stored] = await world.host.snapshots.list({ repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true })
  const { totalBytes, databaseBytes } = stored as { totalBytes: number; databaseBytes: number }
  const dump = Math.min(totalBytes, databaseBytes)
  const needed = {
    /** The dump of what is there now, and the one of the snapshot. */
    work: databaseNow + dump,
    /** As it looks before the dump is here, and once its size is known. */
    volumesBefore: totalBytes - dump + databaseBytes,
    volumes: Math.max(0, totalBytes - fetchedBytes) + databaseBytes,
  }
  return { world, free, needed, folders: { work: (await world.agent()).workFolder, volumes: (await volumesFolder()) as string } }
}

describe('where volumes lie on a disk of their own a restore', () => {
  test('needs there the database, media and objects, and in the work folder two dumps, and no byte more', async () => {
    const { world, free, needed } = await onTwoDisks()
    Object.assign(free, { work: needed.work, volumes: needed.volumes })
    expect(await world.run()).toMatchObject({ outcome: 'restored' })
  })

  test.each([
    ['work', 'volumes'],
    ['volumes', 'work'],
  ] as const)(
    'is refused before anything is fetched when the disk of its %s lacks one byte, by the name of that disk alone',
    async (lacks, has) => {
      const { world, free, needed, folders } = await onTwoDisks()
      Object.assign(
        free,
        { work: needed.work, volumes: needed.volumesBefore },
        { [lacks]: needed[lacks === 'work' ? 'work' : 'volumesBefore'] - 1 },
      )
      const { outcome, error } = await world.run()
      expect({ outcome, code: error?.code }).toEqual({ outcome: 'failed', code: 'DISK_FULL' })
      expect(error?.message).toMatch(new RegExp(`^restoring oak needs \\d+ MB free at ${folders[lacks]}[^;]* missing\\)`))
      expect(error?.message).not.toContain(`at ${folders[has]},`)
      expect(world.counts.restore).toBeUndefined()
    },
  )

  test('is refused when the fetched dump shows that the rest is larger: no volume was created', async () => {
    const { world, free, needed } = await onTwoDisks()
    expect(needed.volumes).toBeGreaterThan(needed.volumesBefore)
    Object.assign(free, { work: needed.work, volumes: needed.volumes - 1 })
    expect(await world.run()).toMatchObject({ outcome: 'failed', error: { code: 'DISK_FULL' } })
    expect(world.counts).toMatchObject({ restore: expect.any(Number) })
    expect(world.counts.createVolume).toBeUndefined()
  })

  test('names both when both lack room', async () => {
    const { world, free, folders } = await onTwoDisks()
    Object.assign(free, { work: 0, volumes: 0 })
    const message = (await world.run()).error?.message
    for (const folder of [folders.work, folders.volumes]) expect(message).toContain(folder)
  })
})

test('what an interrupted try has brought is thrown away before room is looked for', async () => {
  let world: LivedOn | undefined
  const isLeft = () => world?.host.volumeNames().some((name) => /-r[0-9a-f]{8}-1$/.test(name))
  const disk = aDisk({ freeBytes: async () => (isLeft() ? 0 : 1e12) })
  world = await aLivedOnBox({ change: () => ({ disk }) })
  const life = mortal((_, name) => name === 'fetch', 'after')
  const fetch: typeof restoreStepsOfBox.fetch = (run) => life.touch('fetch', () => restoreStepsOfBox.fetch(run))
  await world.run({}, { steps: { ...restoreStepsOfBox, fetch }, context: { signal: life.signal } }).catch(() => undefined)
  expect(isLeft()).toBe(true)
  expect(await world.run()).toMatchObject({ outcome: 'restored' })
})

test('a restore that ends at a full journal before the fence leaves no volume behind', async () => {
  const world = await aLivedOnBox()
  const before = world.host.volumeNames()
  const deps = await world.agent()
  const append: typeof deps.journal.append = (commandId, entry) =>
    entry.step === 'fetch' && entry.mark === 'done'
      ? Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
      : deps.journal.append(commandId, entry)
  const run = world.run({}, { deps: { ...deps, journal: { ...deps.journal, append } } })
  await expect(run).rejects.toThrow('no space')
  expect(world.host.volumeNames()).toEqual(before)
  expect(await (await world.agent()).journal.open()).toEqual([])
})
