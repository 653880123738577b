import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { alignSpace } from '../../../src/daemon/spaces/align-space.ts'
import { followInChat } from '../../../src/daemon/spaces/follow-in-chat.ts'
import { listSpaceMembers } from '../../../src/daemon/spaces/show-spaces.ts'
import { spaceRecord } from '../../../src/daemon/spaces/spaces.repo.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aSpacesRoom } from '../../support/spaces-room.ts'

const size = 1000

test('a thousand members come into both rooms with two requests each and a handful besides, once however often it was noted', async () => {
  const { db } = await emptyDatabase('sqlite')
  const room = await aSpacesRoom(db)
  const anna = await room.aUser('anna')
  const { id: spaceId } = await room.aSpace(anna)
  await room.work()
  const at = isoNow(room.clock)
  const users: Awaited<ReturnType<typeof room.aUser>>[] = []
  for (let n = 0; n < size; n++) users.push(await room.aUser(`pupil${n}`, { inChat: n !== 500 }))
  const member = {
    space_id: spaceId,
    tenant_id: room.tenantId,
    role: 'member',
    joined_at: at,
    chat_joined_at: null,
    chat_refused_at: null,
  } as const
  const space = await spaceRecord(db, spaceId)
  await db.transaction().execute(async (tx) => {
    for (const { userId } of users) {
      await tx
        .insertInto('space_members')
        .values({ ...member, user_id: userId })
        .execute()
      if (space) await followInChat(tx, room.clock, space)
    }
  })
  room.chat.asked.length = 0
  await room.work()
  const [space_, room_] = room.chat.rooms.ids()
  for (const one of [space_, room_]) expect(room.chat.rooms.joined(one ?? '')).toHaveLength(size) // anna, and all but one
  const asked = room.chat.asked.map(({ method, path }) => `${method} ${path.replace(/[^/]*%[^/]*/g, '…')}`)
  const joins = asked.filter((one) => one.includes('/join/'))
  expect(joins).toHaveLength(2 * size)
  // The state of both rooms before and after.
  expect(asked.length - joins.length).toBeLessThan(10)
  const members = await listSpaceMembers(room, anna, { spaceId, limit: 1001 })
  const of = (state: string) => members.members.filter(({ chat }) => chat === state).map(({ matrixUserId }) => matrixUserId)
  expect([of('ready').length, of('pending'), of('refused')]).toEqual([size, [], ['@pupil500:acme.example']])

  const late = users[500]
  room.chat.accounts.set('@pupil500:acme.example', { password: 'x', admin: false, locked: false, deactivated: false, displayName: null })
  room.chat.asked.length = 0
  expect(await alignSpace(room, spaceId)).toBe('done')
  expect(room.chat.asked.length).toBeLessThan(10)
  const again = await listSpaceMembers(room, anna, { spaceId, limit: 1001 })
  expect(again.members.find(({ userId }) => userId === late?.userId)?.chat).toBe('ready')
}, 120_000)
