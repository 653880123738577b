import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { changeFile, deleteFile, restoreFile } from '../../../src/daemon/files/change-file.ts'
import { cleanUpFiles, filesJobs } from '../../../src/daemon/files/erase-files.ts'
import { createFolder, deleteFolder } from '../../../src/daemon/files/folders.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'

const expected = (error: unknown) =>
  (['NOT_FOUND', 'CONFLICT', 'ALREADY_EXISTS', 'QUOTA_EXCEEDED'] as const).some((code) => isProblem(error, code))

onBothDialects('concurrent work on files', (fresh) => {
  test('is serialized or refused, and rows, objects and byte counts agree', async () => {
    const room = await aFilesWorld(await fresh(), 100)
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    const deeds = ['send', 'send to folder', 'delete', 'erase', 'restore', 'move', 'delete folder', 'clean up', 'a month'] as const
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom(...deeds), fc.nat(9)), { minLength: 6, maxLength: 12 }), async (asked) => {
        const { id: folderId } = await createFolder(room, anna, { spaceId, name: room.random.bytes(8).join('-') })
        const files = await room.rows()
        const done = await Promise.allSettled(
          asked.map(([deed, nth]) => {
            const one = { spaceId, fileId: files[nth % Math.max(1, files.length)]?.id ?? 'fil_none' }
            if (deed === 'send') return room.send(anna, spaceId, { content: Buffer.alloc(nth) })
            if (deed === 'send to folder') return room.send(anna, spaceId, { content: Buffer.alloc(nth), fields: { folderId } })
            if (deed === 'delete') return deleteFile(room, anna, { ...one, forGood: false })
            if (deed === 'erase') return deleteFile(room, anna, { ...one, forGood: true })
            if (deed === 'restore') return restoreFile(room, anna, one)
            if (deed === 'move') return changeFile(room, anna, { ...one, folderId })
            if (deed === 'delete folder') return deleteFolder(room, anna, { spaceId, folderId })
            return deed === 'clean up' ? cleanUpFiles(room) : room.clock.advance(30 * 86_400_000)
          }),
        )
        for (const end of done) if (end.status === 'rejected') expect(expected(end.reason) ? '' : String(end.reason)).toBe('')
        await cleanUpFiles(room)
        await room.agree()
        const folders = await room.db.selectFrom('folders').select('id').execute()
        const lost = (await room.rows()).filter(({ folder_id }) => folder_id !== null && !folders.some(({ id }) => id === folder_id))
        expect(lost).toEqual([])
      }),
      { numRuns: 15 },
    )
  })

  test('an upload whose row was deleted leaves no bytes', async () => {
    const room = await aFilesWorld(await fresh())
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    const put: typeof room.objects.put = async (...given) => {
      await room.clock.advance(86_400_000)
      expect(await cleanUpFiles(room)).toBe('erased 1 file')
      return room.objects.put(...given)
    }
    const deps = { ...room, objects: { ...room.objects, put } }
    await expect(room.send(anna, spaceId, {}, deps)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect([await room.rows(), await room.kept(), await room.usage()]).toEqual([[], [], 0])
  })

  test('file-cleanup runs at 03:30', async () => {
    const [job] = filesJobs(await aFilesWorld(await fresh()))
    expect([job?.key, job?.nextAfter(new Date('2026-01-05T03:30:00Z'))]).toEqual(['file-cleanup', new Date('2026-01-06T03:30:00Z')])
  })
})
