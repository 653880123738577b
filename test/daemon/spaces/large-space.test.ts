import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { putSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { listSpaceMembers } from '../../../src/daemon/spaces/show-spaces.ts'
import { spaceById } from '../../../src/daemon/spaces/spaces.repo.ts'
import { enqueueSpaceSync } from '../../../src/daemon/spaces/sync-jobs.ts'
import { syncSpace } from '../../../src/daemon/spaces/sync-space.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

const size = 1000

test('a thousand members join both rooms with two requests each and a few more, however often they are queued', async () => {
  const { db } = await emptyDatabase('sqlite')
  const room = await aSpacesWorld(db)
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
  const space = await spaceById(db, spaceId)
  await db.transaction().execute(async (tx) => {
    for (const { userId } of users) {
      await tx
        .insertInto('space_members')
        .values({ ...member, user_id: userId })
        .execute()
      if (space) await enqueueSpaceSync(tx, room.clock, space)
    }
  })
  room.chat.asked.length = 0
  await room.work()
  const [space_, room_] = room.chat.rooms.ids()
  for (const one of [space_, room_]) expect(room.chat.rooms.joined(one ?? '')).toHaveLength(size) // anna, and all but one
  const asked = room.chat.asked.map(({ method, path }) => `${method} ${path.replace(/[^/]*%[^/]*/g, '…')}`)
  const joins = asked.filter((one) => one.includes('/join/'))
  expect(joins).toHaveLength(2 * size)
  // The state events of both rooms, before and after.
  expect(asked.length - joins.length).toBeLessThan(10)
  const members = await listSpaceMembers(room, anna, { spaceId, limit: 1001 })
  const of = (state: string) => members.members.filter(({ chat }) => chat === state).map(({ matrixUserId }) => matrixUserId)
  expect([of('ready').length, of('pending'), of('refused')]).toEqual([size, [], ['@pupil500:acme.example']])

  const late = users[500]
  room.chat.accounts.set('@pupil500:acme.example', { password: 'x', admin: false, locked: false, deactivated: false, displayName: null })
  room.chat.asked.length = 0
  expect(await syncSpace(room, spaceId)).toBe('done')
  expect(room.chat.asked.length).toBeLessThan(10)
  const again = await listSpaceMembers(room, anna, { spaceId, limit: 1001 })
  expect(again.members.find(({ userId }) => userId === late?.userId)?.chat).toBe('ready')
})

test('with a very slow chat server members still get their events, and refused members are not retried forever', async () => {
  const { db } = await emptyDatabase('sqlite')
  const room = await aSpacesWorld(db)
  const anna = await room.aUser('anna')
  const { id: spaceId } = await room.aSpace(anna)
  for (let n = 0; n < 12; n++) {
    const { userId } = await room.aUser(`pupil${n}`, { inChat: n > 7 })
    await putSpaceMember(room, anna, { spaceId, userId, role: 'member' })
  }
  const slow = {
    ...room,
    homeservers: {
      of: (tenantId: typeof room.tenantId) => {
        const homeserver = room.homeservers.of(tenantId)
        const send: typeof homeserver.send = async (request) => {
          await room.clock.advance(6000)
          return homeserver.send(request)
        }
        return { ...homeserver, send }
      },
    },
  }
  const turns: string[] = []
  while (turns.at(-1) !== 'done' && turns.length < 12) turns.push(await syncSpace(slow, spaceId))
  expect(turns.at(-1)).toBe('done')
  const [space_, room_] = room.chat.rooms.ids()
  for (const one of [space_, room_]) expect(room.chat.rooms.joined(one ?? '')).toHaveLength(5)
  const { members } = await listSpaceMembers(room, anna, { spaceId, limit: 100 })
  expect(members.filter(({ chat }) => chat === 'refused')).toHaveLength(8)
})

test('a large space is deleted with few statements, so that other writes of the tenant wait briefly; each member gets an event', async () => {
  const { db } = await emptyDatabase('sqlite')
  const room = await aSpacesWorld(db)
  const anna = await room.aUser('anna')
  const users = [anna]
  for (let n = 0; n < 99; n++) users.push(await room.aUser(`pupil${n}`))
  const { id: spaceId } = await room.aSpace(anna)
  for (const { userId } of users.slice(1)) await putSpaceMember(room, anna, { spaceId, userId, role: 'member' })
  let asked = 0
  const counting = db.withPlugin({
    transformQuery: ({ node }) => {
      asked += 1
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await deleteSpace({ ...room, db: counting }, anna, { spaceId })
  expect(asked).toBeLessThan(users.length)
  const ids = users.map(({ userId }) => userId).sort()
  const told = (await room.events()).slice(-101)
  const left = ids.map((userId) => ({ payload: { userId, spaceId, reason: 'space_deleted' }, audience: { users: [userId] } }))
  expect(told.slice(0, 100).map(({ payload, audience }) => ({ payload, audience }))).toEqual(left)
  expect(told[100]).toMatchObject({ type: 'space.deleted', audience: { users: ids } })
  const noted = await db
    .selectFrom('space_activity')
    .select(['type', 'seq'])
    .where('space_id', '=', spaceId)
    .orderBy('seq', 'desc')
    .limit(101)
    .execute()
  expect(noted.map(({ type }) => type)).toEqual(['space.deleted', ...ids.map(() => 'user.left')])
  expect(Number(noted[0]?.seq) - Number(noted[100]?.seq)).toBe(100)
})
