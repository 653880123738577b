import { expect, test } from 'vitest'
import { membershipGuard } from '../../../src/daemon/files/show-files.ts'
import { putSpaceMember, removeSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { findSpace, type SpaceRecord } from '../../../src/daemon/spaces/spaces.repo.ts'
import { recordLeft } from '../../../src/daemon/spaces/sync-steps.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aFilesWorld } from '../../support/files-world.ts'

onBothDialects('membership check of downloads', (fresh) => {
  /** Ben in a space of anna, and the check of his membership. */
  async function inside() {
    const db = await fresh()
    const room = await aFilesWorld(db)
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
    const { id: spaceId } = await room.aSpace(anna)
    await putSpaceMember(room, anna, { spaceId, userId: ben.userId, role: 'member' })
    let asked = 0
    const counting = db.withPlugin({
      transformQuery: ({ node }) => {
        asked += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const over = new AbortController()
    const stands = membershipGuard({ db: counting, revocations: room.revocations }, ben, { spaceId, over: over.signal })
    await stands()
    asked = 0
    return { room, anna, ben, spaceId, stands, over, questions: () => asked }
  }
  type Inside = Awaited<ReturnType<typeof inside>>

  test.each([
    ['puts itself out', ({ room, ben, spaceId }: Inside) => removeSpaceMember(room, ben, { spaceId, userId: ben.userId })],
    ['is put out', ({ room, anna, ben, spaceId }: Inside) => removeSpaceMember(room, anna, { spaceId, userId: ben.userId })],
    ['loses the space', ({ room, anna, spaceId }: Inside) => deleteSpace(room, anna, { spaceId })],
    [
      'leaves it in the chat',
      async ({ room, ben, spaceId }: Inside) => {
        const space = (await findSpace(room.db, { tenantId: room.tenantId, spaceId })) as SpaceRecord
        await recordLeft(room, { space, userId: ben.userId, chatJoinedAt: null })
      },
    ],
  ])('a user who %s loses access at the next read of revocations, without queries before it', async (_, leave) => {
    const it = await inside()
    await leave(it)
    await it.stands()
    expect(it.questions()).toBe(0)
    await it.room.revocations.readNow()
    await expect(it.stands()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('other spaces cause no query; unreadable revocations cause a query for every space', async () => {
    const { room, anna, stands, questions } = await inside()
    const { id: other } = await room.aSpace(anna)
    await deleteSpace(room, anna, { spaceId: other })
    await room.revocations.readNow()
    await stands()
    expect(questions()).toBe(0)
    const blind = { ...room.revocations, fresh: () => false }
    const doubting = membershipGuard({ db: room.db, revocations: blind }, anna, { spaceId: other, over: new AbortController().signal })
    await expect(doubting()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('after its end the check ignores revocations', async () => {
    const { room, anna, ben, spaceId, stands, over, questions } = await inside()
    over.abort()
    await removeSpaceMember(room, anna, { spaceId, userId: ben.userId })
    await room.revocations.readNow()
    await stands()
    expect(questions()).toBe(0)
  })
})
