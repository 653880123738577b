import { expect, test } from 'vitest'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { spacesWithFiles } from '../../../src/daemon/files/files.repo.ts'
import { createFolder, deleteFolder, deleteOldFolders, listFolders } from '../../../src/daemon/files/folders.ts'
import { spaceActivity } from '../../../src/daemon/spaces/activity.ts'
import { putSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { deleteOldSpaces } from '../../../src/daemon/spaces/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

const refusedWith = (code: ProblemCode) => (error: unknown) => isProblem(error, code)
const day = 86_400_000

onBothDialects('folders of a space', (fresh) => {
  test('are created by members, each name once, and listed in the activity', async () => {
    const room = await aSpacesWorld(await fresh())
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    const folder = await createFolder(room, anna, { spaceId, name: 'Photos' })
    await expect(createFolder(room, anna, { spaceId, name: 'Photos' })).rejects.toSatisfy(refusedWith('ALREADY_EXISTS'))
    expect(await listFolders(room, anna, { spaceId, limit: 10 })).toEqual({ folders: [folder], nextCursor: null })
    expect((await spaceActivity(room, anna, { spaceId, limit: 1 })).activity).toMatchObject([
      { type: 'folder.created', actorId: anna.userId, ids: { folderId: folder.id, spaceId } },
    ])
  })

  test('are hidden from non-members, even if they can find the space or manage the tenant', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben', { capabilities: ['manageSpaces', 'manageUsers'] })]
    const { id: spaceId } = await room.aSpace(anna, { visibility: 'TENANT' })
    const { id: folderId } = await createFolder(room, anna, { spaceId, name: 'Photos' })
    for (const reach of [
      () => listFolders(room, ben, { spaceId, limit: 10 }),
      () => createFolder(room, ben, { spaceId, name: 'Mine' }),
      () => deleteFolder(room, ben, { spaceId, folderId }),
    ])
      await expect(reach()).rejects.toSatisfy(refusedWith('NOT_FOUND'))
  })

  test('are deleted by their creator and by owners, through their own space only', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
    const [{ id: spaceId }, { id: other }] = [await room.aSpace(anna), await room.aSpace(anna, { name: '5c' })]
    await putSpaceMember(room, anna, { spaceId, userId: ben.userId, role: 'member' })
    const [hers, his] = [await createFolder(room, anna, { spaceId, name: 'Hers' }), await createFolder(room, ben, { spaceId, name: 'His' })]
    await expect(deleteFolder(room, ben, { spaceId, folderId: hers.id })).rejects.toSatisfy(refusedWith('FORBIDDEN'))
    await expect(deleteFolder(room, anna, { spaceId: other, folderId: his.id })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await deleteFolder(room, ben, { spaceId, folderId: his.id })
    await deleteFolder(room, anna, { spaceId, folderId: hers.id })
    expect((await room.events()).slice(-1)).toMatchObject([{ type: 'folder.deleted', payload: { folderId: hers.id, spaceId } }])
  })

  test('are deleted with their space, without leftovers', async () => {
    const room = await aSpacesWorld(await fresh())
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    await createFolder(room, anna, { spaceId, name: 'Photos' })
    await deleteSpace(room, anna, { spaceId })
    await expect(listFolders(room, anna, { spaceId, limit: 10 })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect(await deleteOldFolders(room)).toBe('0 folders')
    await room.clock.advance(401 * day)
    expect([await deleteOldFolders(room), await deleteOldSpaces({ ...room, isReferenced: spacesWithFiles })]).toEqual([
      '1 folder',
      '5 space activity entries',
    ])
    expect(await room.db.selectFrom('spaces').selectAll().execute()).toEqual([])
  })
})
