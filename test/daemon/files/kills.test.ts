import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { PlatformPrincipal } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { deleteFile } from '../../../src/daemon/files/change-file.ts'
import type { FilesDeps } from '../../../src/daemon/files/deps.ts'
import { cleanUpFiles } from '../../../src/daemon/files/erase-files.ts'
import { onBothDialects } from '../../support/databases.ts'
import { Died, mortal } from '../../support/dying.ts'
import { aFilesWorld } from '../../support/files-world.ts'

const day = 86_400_000
type Room = Awaited<ReturnType<typeof aFilesWorld>>
type Store = FilesDeps['objects']

/** The files feature of a process that dies after `steps` database statements; its store does nothing from then on. */
function dying(room: Room, steps: number, store: (isDead: () => boolean) => Partial<Store> = () => ({})) {
  const { db, isDead } = mortal(room.db as Db, steps)
  const alive = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead()) throw new Died('killed')
    return work()
  }
  const objects: Store = {
    ...room.objects,
    put: (...given) => alive(() => room.objects.put(...given)),
    remove: (key) => alive(() => room.objects.remove(key)),
    ...store(isDead),
  }
  return { deps: { ...room, db, objects }, isDead }
}

/** Repeats the operation in processes that die one statement later each time, until one completes it. */
async function killedAtEachStep(room: Room, deed: (deps: FilesDeps) => Promise<unknown>, then: () => Promise<void>): Promise<number> {
  for (let steps = 0; ; steps += 1) {
    const { deps, isDead } = dying(room, steps)
    await deed(deps).catch((error) => {
      if (!isDead()) throw error
    })
    if (!isDead()) return steps
    await then()
  }
}

async function aSpaceOf(room: Room): Promise<{ anna: PlatformPrincipal; spaceId: string }> {
  const anna = await room.aUser('anna')
  return { anna, spaceId: (await room.aSpace(anna)).id }
}

onBothDialects('a kill of the daemon', (fresh) => {
  test('in an upload leaves a complete file or, after a day, nothing', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await aSpaceOf(room)
    const kills = await killedAtEachStep(
      room,
      (deps) => room.send(anna, spaceId, {}, deps),
      async () => {
        // Until then an unfinished file is invisible, and every object has its row.
        const rows = await room.rows()
        expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(await room.kept()))
        await room.clock.advance(day)
        await cleanUpFiles(room)
        await room.agree()
        expect((await room.rows()).every(({ state }) => state === 'ready')).toBe(true)
      },
    )
    expect(kills).toBeGreaterThan(15)
  })

  test('during the transfer leaves nothing after a day', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await aSpaceOf(room)
    const { deps } = dying(room, 1000, () => ({
      put: async (key) => {
        const unfinished = join(room.folder, `${key}.part`)
        await mkdir(dirname(unfinished), { recursive: true })
        await writeFile(unfinished, 'hel')
        throw new Died('killed')
      },
      remove: () => Promise.reject(new Died('killed')),
    }))
    await expect(room.send(anna, spaceId, {}, deps)).rejects.toThrow('killed')
    expect(await room.kept()).toHaveLength(1)
    await room.clock.advance(day)
    expect([await cleanUpFiles(room), await room.kept(), await room.usage()]).toEqual(['erased 1 file', [], 0])
  })

  test('while erasing resumes at the next run', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await aSpaceOf(room)
    for (const _ of [1, 2, 3]) {
      const { id: fileId } = await room.send(anna, spaceId)
      await deleteFile(room, anna, { spaceId, fileId, forGood: false })
    }
    await room.clock.advance(30 * day)
    const kills = await killedAtEachStep(room, cleanUpFiles, async () => {
      const rows = await room.rows()
      expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining(await room.kept()))
    })
    expect(kills).toBeGreaterThan(2)
    await cleanUpFiles(room)
    await room.agree()
    expect(await room.rows()).toEqual([])
  })

  test('while deleting permanently keeps the file or erases it the next night', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await aSpaceOf(room)
    let { id: fileId } = await room.send(anna, spaceId)
    await killedAtEachStep(
      room,
      (deps) => deleteFile(deps, anna, { spaceId, fileId, forGood: true }),
      async () => {
        const [row] = await room.rows()
        if (row?.state === 'ready') return
        await cleanUpFiles(room)
        await room.agree()
        fileId = (await room.send(anna, spaceId)).id
      },
    )
    await cleanUpFiles(room)
    expect([await room.rows(), await room.kept(), await room.usage()]).toEqual([[], [], 0])
  })

  test('many pages of files are erased in one run, even if some fail', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await aSpaceOf(room)
    const { id } = await room.send(anna, spaceId)
    const [row] = await room.rows()
    const due = { ...row!, state: 'deleted', erase_at: row!.created_at } as const
    const ids = Array.from({ length: 450 }, (_, at) => `fil_${String(at).padStart(20, '0')}`)
    await room.db
      .insertInto('files')
      .values(ids.map((one) => ({ ...due, id: one, bytes: 0 })))
      .execute()
    const stuck = {
      ...room.objects,
      remove: (key: string) => (key.endsWith('7') ? Promise.reject(new Error('stuck')) : room.objects.remove(key)),
    }
    expect(await cleanUpFiles({ ...room, objects: stuck })).toBe('erased 405 files; 45 files could not be erased')
    expect(await cleanUpFiles(room)).toBe('erased 45 files')
    expect((await room.rows()).map((one) => one.id)).toEqual([id])
  })
})
