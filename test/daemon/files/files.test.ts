import { createHash } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isProblem, type PlatformPrincipal, type ProblemCode, problem } from '../../../src/core/kit/index.ts'
import { changeFile, deleteFile, restoreFile } from '../../../src/daemon/files/change-file.ts'
import { cleanUpFiles, eraseTenantFiles } from '../../../src/daemon/files/erase-files.ts'
import { spacesWithFiles } from '../../../src/daemon/files/files.repo.ts'
import { createFolder, deleteFolder } from '../../../src/daemon/files/folders.ts'
import { downloadFile, listFiles, showFile } from '../../../src/daemon/files/show-files.ts'
import { uploadFile } from '../../../src/daemon/files/upload-file.ts'
import { deleteOldSpaces, spaceActivity } from '../../../src/daemon/spaces/activity.ts'
import { putSpaceMember, removeSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aFilesWorld, anUpload, inPieces } from '../../support/files-world.ts'

const refusedWith = (code: ProblemCode) => (error: unknown) => isProblem(error, code)
const day = 86_400_000
type Room = Awaited<ReturnType<typeof aFilesWorld>>

/** A space of anna with ben as a member. */
async function ofTwo(room: Room) {
  const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
  const { id: spaceId } = await room.aSpace(anna)
  await putSpaceMember(room, anna, { spaceId, userId: ben.userId, role: 'member' })
  return { anna, ben, spaceId }
}

async function bytesOf(room: Room, actor: PlatformPrincipal, one: { spaceId: string; fileId: string }): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await (await downloadFile(room, actor, one)).open()) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

onBothDialects('files of a space', (fresh) => {
  test('are uploaded by members, published to them, and downloaded unchanged', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, ben, spaceId } = await ofTwo(room)
    const { id: folderId } = await createFolder(room, anna, { spaceId, name: 'Plans' })
    const content = Buffer.from('%PDF-1.7 plan')
    const made = await room.send(ben, spaceId, { content, fileName: 'C:\\plan.pdf', contentType: 'text/html', fields: { folderId } })
    expect(made).toMatchObject({
      ...{ spaceId, folderId, name: 'plan.pdf', bytes: 13, contentType: 'text/html', createdBy: ben.userId, deletedAt: null },
      sha256: createHash('sha256').update(content).digest('hex'),
    })
    const one = { spaceId, fileId: made.id }
    expect(await showFile(room, anna, one)).toEqual(made)
    expect(await downloadFile(room, anna, one)).toMatchObject({
      contentType: 'application/pdf',
      inline: true,
      etag: expect.stringMatching(/^"/),
    })
    expect(await bytesOf(room, anna, one)).toBe('%PDF-1.7 plan')
    const event = { type: 'file.created', payload: { ...one, folderId }, audience: { spaces: [spaceId] } }
    expect((await room.events()).slice(-1)).toMatchObject(
      [event].map(({ payload: { fileId }, ...rest }) => ({ ...rest, payload: { fileId, spaceId, folderId } })),
    )
    expect((await spaceActivity(room, anna, { spaceId, limit: 1 })).activity).toMatchObject([{ type: 'file.created', actorId: ben.userId }])
    await room.agree()
  })

  test('are sent as attachments unless their bytes are an image or a PDF, whatever type was declared', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: fileId } = await room.send(anna, spaceId, { content: Buffer.from('<script>'), fileName: 'a.png', contentType: 'image/png' })
    expect(await downloadFile(room, anna, { spaceId, fileId })).toMatchObject({ contentType: 'application/octet-stream', inline: false })
  })

  test('are hidden from non-members and other tenants on every endpoint', async () => {
    const room = await aFilesWorld(await fresh())
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna, { visibility: 'PUBLIC' })
    const administrator = await room.aUser('carl', { capabilities: ['manageSpaces', 'manageUsers'] })
    const stranger = { ...anna, tenantId: 'ten_other' as never }
    const { id: fileId } = await room.send(anna, spaceId)
    const one = { spaceId, fileId }
    for (const who of [administrator, stranger])
      for (const reach of [
        () => room.send(who, spaceId),
        () => listFiles(room, who, { spaceId, deleted: false, limit: 10 }),
        () => showFile(room, who, one),
        () => downloadFile(room, who, one),
        () => changeFile(room, who, { ...one, name: 'b' }),
        () => deleteFile(room, who, { ...one, forGood: true }),
        () => restoreFile(room, who, one),
      ])
        await expect(reach()).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await room.agree()
  })

  test('are accessible through their own space only', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: other } = await room.aSpace(anna, { name: '5c' })
    const { id: fileId } = await room.send(anna, spaceId)
    const { id: folderId } = await createFolder(room, anna, { spaceId, name: 'Plans' })
    for (const reach of [
      () => showFile(room, anna, { spaceId: other, fileId }),
      () => deleteFile(room, anna, { spaceId: other, fileId, forGood: true }),
      () => room.send(anna, other, { fields: { folderId } }),
    ])
      await expect(reach()).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await room.agree()
  })

  test('are listed newest first, in pages, by folder', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: folderId } = await createFolder(room, anna, { spaceId, name: 'Plans' })
    const names: string[] = []
    for (const name of ['a', 'b', 'b', 'c', 'd']) {
      await room.send(anna, spaceId, { fields: { name, ...(name === 'b' ? { folderId } : {}) } })
      if (name !== 'c') await room.clock.advance(1) // two of a moment have an order too
    }
    for (let cursor: string | undefined; ; ) {
      const { files, nextCursor } = await listFiles(room, anna, { spaceId, deleted: false, limit: 2, cursor })
      names.push(...files.map(({ name }) => name))
      if (nextCursor === null) break
      cursor = nextCursor
    }
    expect(names.slice(2)).toEqual(['b', 'b', 'a'])
    expect(names.slice(0, 2).sort()).toEqual(['c', 'd'])
    const inFolder = async (of: string) =>
      (await listFiles(room, anna, { spaceId, deleted: false, limit: 9, folderId: of })).files.map(({ name }) => name).sort()
    expect([await inFolder(folderId), await inFolder('none')]).toEqual([
      ['b', 'b'],
      ['a', 'c', 'd'],
    ])
    await expect(listFiles(room, anna, { spaceId, deleted: false, limit: 2, cursor: 'x' })).rejects.toSatisfy(refusedWith('VALIDATION'))
  })

  test('are renamed, moved and deleted by their uploader and by owners', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, ben, spaceId } = await ofTwo(room)
    const { id: folderId } = await createFolder(room, anna, { spaceId, name: 'Plans' })
    const [hers, his] = [await room.send(anna, spaceId), await room.send(ben, spaceId)]
    for (const reach of [
      () => changeFile(room, ben, { spaceId, fileId: hers.id, name: 'x' }),
      () => deleteFile(room, ben, { spaceId, fileId: hers.id, forGood: false }),
    ])
      await expect(reach()).rejects.toSatisfy(refusedWith('FORBIDDEN'))
    expect(await changeFile(room, ben, { spaceId, fileId: his.id, name: 'x' })).toMatchObject({ name: 'x', folderId: null })
    expect(await changeFile(room, anna, { spaceId, fileId: his.id, folderId })).toMatchObject({ name: 'x', folderId })
    expect(await changeFile(room, anna, { spaceId, fileId: his.id, folderId: null })).toMatchObject({ folderId: null })
    expect(await changeFile(room, anna, { spaceId, fileId: his.id, name: 'x', folderId: null })).toMatchObject({ name: 'x' }) // told to nobody
    const nowhere = { spaceId, fileId: his.id, folderId: 'fld_00000000000000000000' }
    await expect(changeFile(room, anna, nowhere)).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await deleteFile(room, anna, { spaceId, fileId: his.id, forGood: false })
    await expect(downloadFile(room, ben, { spaceId, fileId: his.id })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await expect(restoreFile(room, await room.aUser('eve'), { spaceId, fileId: his.id })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect((await room.events()).slice(-4).map(({ type }) => type)).toEqual([
      'file.updated',
      'file.updated',
      'file.updated',
      'file.deleted',
    ])
  })

  test('that were deleted can be restored for 30 days and count to the quota until they are erased', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: fileId } = await room.send(anna, spaceId)
    const one = { spaceId, fileId }
    await deleteFile(room, anna, { ...one, forGood: false })
    expect((await listFiles(room, anna, { spaceId, deleted: false, limit: 9 })).files).toEqual([])
    expect((await listFiles(room, anna, { spaceId, deleted: true, limit: 9 })).files).toMatchObject([
      { id: fileId, deletedAt: expect.any(String) },
    ])
    await room.clock.advance(30 * day - 1)
    expect([await cleanUpFiles(room), await room.usage()]).toEqual(['erased 0 files', 5])
    expect(await restoreFile(room, anna, one)).toMatchObject({ deletedAt: null })
    expect(await restoreFile(room, anna, one)).toMatchObject({ deletedAt: null })
    await room.clock.advance(day)
    expect(await cleanUpFiles(room)).toBe('erased 0 files')
    expect(await bytesOf(room, anna, one)).toBe('hello')
    await deleteFile(room, anna, { ...one, forGood: false })
    await room.clock.advance(30 * day)
    expect([await cleanUpFiles(room), await room.usage(), await room.kept()]).toEqual(['erased 1 file', 0, []])
    await expect(restoreFile(room, anna, one)).rejects.toSatisfy(refusedWith('NOT_FOUND'))
  })

  test('are erased at once on request, deleted files too, and free their quota', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const [one, two] = [await room.send(anna, spaceId), await room.send(anna, spaceId)]
    await deleteFile(room, anna, { spaceId, fileId: one.id, forGood: true })
    await deleteFile(room, anna, { spaceId, fileId: two.id, forGood: false })
    await deleteFile(room, anna, { spaceId, fileId: two.id, forGood: true })
    expect([await room.usage(), await room.kept(), await room.rows()]).toEqual([0, [], []])
  })

  test('are deleted with their folder, restored without it, and not deletable by the creator of the folder alone', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, ben, spaceId } = await ofTwo(room)
    const { id: folderId } = await createFolder(room, ben, { spaceId, name: 'Plans' })
    const { id: fileId } = await room.send(anna, spaceId, { fields: { folderId } })
    await expect(deleteFolder(room, ben, { spaceId, folderId })).rejects.toSatisfy(refusedWith('FORBIDDEN'))
    await deleteFolder(room, anna, { spaceId, folderId })
    expect(await showFile(room, anna, { spaceId, fileId })).toMatchObject({ folderId: null, deletedAt: expect.any(String) })
    expect(await restoreFile(room, anna, { spaceId, fileId })).toMatchObject({ folderId: null, deletedAt: null })
  })

  test('are erased 30 days after their space', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: fileId } = await room.send(anna, spaceId)
    await deleteSpace(room, anna, { spaceId })
    await expect(showFile(room, anna, { spaceId, fileId })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect(await cleanUpFiles(room)).toBe('erased 0 files')
    await room.clock.advance(30 * day)
    expect([await cleanUpFiles(room), await room.usage(), await room.kept()]).toEqual(['erased 1 file', 0, []])
  })

  test('leave nothing if the form is invalid, the folder does not exist, or the sender is removed meanwhile', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, ben, spaceId } = await ofTwo(room)
    const upload = anUpload()
    const refused = {
      ...upload,
      receive: async (take: never) => upload.receive(take).then(() => Promise.reject(problem('VALIDATION', 'x'))),
    }
    await expect(uploadFile(room, ben, { spaceId, upload: refused })).rejects.toSatisfy(refusedWith('VALIDATION'))
    await expect(room.send(ben, spaceId, { fields: { folderId: 'fld_00000000000000000000' } })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    const left: typeof upload = {
      ...upload,
      receive: async (take) => {
        await removeSpaceMember(room, anna, { spaceId, userId: ben.userId })
        return upload.receive(take)
      },
    }
    await expect(uploadFile(room, ben, { spaceId, upload: left })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect([await room.usage(), await room.kept(), await room.rows()]).toEqual([0, [], []])
  })

  test('stay recorded while the store is unreachable, and are erased once it is back', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const away = () => Promise.reject(problem('OBJECT_STORE_UNAVAILABLE', 'away'))
    const broken = { ...room, objects: { ...room.objects, put: away, remove: away } }
    await expect(room.send(anna, spaceId, {}, broken)).rejects.toSatisfy(refusedWith('OBJECT_STORE_UNAVAILABLE'))
    const { id: fileId } = await room.send(anna, spaceId)
    await deleteFile(broken, anna, { spaceId, fileId, forGood: true })
    await expect(showFile(room, anna, { spaceId, fileId })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect(await cleanUpFiles(broken)).toBe('erased 0 files; 2 files could not be erased')
    expect(await room.usage()).toBe(10)
    expect([await cleanUpFiles(room), await room.usage(), await room.kept()]).toEqual(['erased 2 files', 0, []])
  })

  test('are unavailable, not lost, while the disk of their store is not mounted', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: fileId } = await room.send(anna, spaceId)
    await rename(room.folder, `${room.folder}.away`)
    for (const use of [() => room.send(anna, spaceId), () => bytesOf(room, anna, { spaceId, fileId })])
      await expect(use()).rejects.toSatisfy(refusedWith('OBJECT_STORE_UNAVAILABLE'))
    await rename(`${room.folder}.away`, room.folder)
    expect(await bytesOf(room, anna, { spaceId, fileId })).toBe('hello')
  })

  test('are not counted as erased while their store is away, not even the last file or those of a deleted tenant', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const [{ id: fileId }] = [await room.send(anna, spaceId), await room.send(anna, spaceId)]
    await rename(room.folder, `${room.folder}.away`)
    await deleteFile(room, anna, { spaceId, fileId, forGood: true })
    await expect(eraseTenantFiles(room, room.tenantId)).rejects.toSatisfy(refusedWith('OBJECT_STORE_UNAVAILABLE'))
    expect(await cleanUpFiles(room)).toBe('erased 0 files; 2 files could not be erased')
    await rename(`${room.folder}.away`, room.folder)
    await eraseTenantFiles(room, room.tenantId)
    expect([await room.kept(), await room.rows(), await room.usage()]).toEqual([[], [], 0])
  })

  test('of a deleted tenant are erased too if a restored database does not know them, and those of others stay', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    await room.send(anna, spaceId)
    for (const key of [`files/${room.tenantId}/fil_later`, 'files/ten_other/fil_other'])
      await room.objects.put(key, inPieces(Buffer.from('hello')))
    await eraseTenantFiles(room, room.tenantId)
    expect(await room.kept()).toEqual(['fil_other'])
  })

  test('are neither stored nor erased in the folder of another installation', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const { id: fileId } = await room.send(anna, spaceId)
    await rename(join(room.folder, 'files'), `${room.folder}.away`)
    await mkdir(join(room.folder, 'files', 'ten_other'), { recursive: true })
    await writeFile(join(room.folder, 'files', 'ten_other', 'fil_other'), 'hello')
    for (const use of [() => room.send(anna, spaceId), () => bytesOf(room, anna, { spaceId, fileId })])
      await expect(use()).rejects.toSatisfy(refusedWith('OBJECT_STORE_UNAVAILABLE'))
    await deleteFile(room, anna, { spaceId, fileId, forGood: false })
    await room.clock.advance(31 * day)
    expect(await cleanUpFiles(room)).toMatch(/could not be erased$/)
    expect(await room.kept()).toEqual(['fil_other'])
  })

  test('an upload that failed in an unused store does not make it seem lost', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    const put = () => Promise.reject(problem('OBJECT_STORE_UNAVAILABLE', 'away'))
    const remove = () => Promise.reject(problem('OBJECT_STORE_UNAVAILABLE', 'away'))
    const broken = { ...room, objects: { ...room.objects, put, remove } }
    await expect(room.send(anna, spaceId, {}, broken)).rejects.toSatisfy(refusedWith('OBJECT_STORE_UNAVAILABLE'))
    expect((await room.rows()).map(({ state }) => state)).toEqual(['erasing'])
    await room.send(anna, spaceId)
    expect(await cleanUpFiles(room)).toBe('erased 1 file')
  })

  test('keep the row of their space until the store has deleted them', async () => {
    const room = await aFilesWorld(await fresh())
    const { anna, spaceId } = await ofTwo(room)
    await room.send(anna, spaceId)
    await deleteSpace(room, anna, { spaceId })
    await room.clock.advance(401 * day)
    const left = async () => {
      await deleteOldSpaces({ ...room, isReferenced: spacesWithFiles })
      return (await room.db.selectFrom('spaces').select('id').execute()).length
    }
    expect(await left()).toBe(1)
    await cleanUpFiles(room)
    expect(await left()).toBe(0)
  })
})
