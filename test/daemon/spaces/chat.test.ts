import { describe, expect, test, vi } from 'vitest'
import { roomAliasName } from '../../../src/core/spaces/index.ts'
import { putSpaceMember, removeSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { changeSpace, deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { spacesJobs } from '../../../src/daemon/spaces/index.ts'
import { listSpaceMembers, showSpace } from '../../../src/daemon/spaces/show-spaces.ts'
import { spaceResyncListener } from '../../../src/daemon/spaces/sync-jobs.ts'
import { syncSpace } from '../../../src/daemon/spaces/sync-space.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

const aRoom = async () => aSpacesWorld((await emptyDatabase('sqlite')).db)
type Room = Awaited<ReturnType<typeof aRoom>>

const reconcile = (room: Room) => spacesJobs(room)[0]?.run({ signal: new AbortController().signal })

async function roomsOf(room: Room, spaceId: string) {
  const row = await room.db.selectFrom('spaces').selectAll().where('id', '=', spaceId).executeTakeFirstOrThrow()
  return { space: row.chat_space_id ?? '', room: row.chat_room_id ?? '', ready: row.chat_revision === row.revision }
}

const joinedIn = async (room: Room, spaceId: string) => {
  const ids = await roomsOf(room, spaceId)
  return [room.chat.rooms.joined(ids.space), room.chat.rooms.joined(ids.room)]
}

async function aSpaceWithBen(room: Room) {
  const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
  const { id: spaceId } = await room.aSpace(anna)
  await putSpaceMember(room, anna, { spaceId, userId: ben.userId, role: 'member' })
  await room.work()
  return { anna, ben, spaceId }
}

const both = ['@anna:acme.example', '@ben:acme.example']

describe('the rooms of a space', () => {
  test('are a Matrix space and a linked room; members cannot invite, rename or kick', async () => {
    const room = await aRoom()
    const { spaceId } = await aSpaceWithBen(room)
    const { rooms } = room.chat
    const { space, room: main } = await roomsOf(room, spaceId)
    expect(rooms.stateOf(space, 'm.room.create')).toEqual({ type: 'm.space', 'm.federate': false })
    expect(rooms.stateOf(space, 'm.space.child', main)).toEqual({ via: ['acme.example'], suggested: true })
    expect(rooms.stateOf(main, 'm.space.parent', space)).toEqual({ via: ['acme.example'], canonical: true })
    for (const id of [space, main])
      expect(rooms.stateOf(id, 'm.room.power_levels')).toMatchObject({
        invite: 100,
        kick: 100,
        ban: 100,
        state_default: 100,
        users_default: 0,
      })
    expect(await joinedIn(room, spaceId)).toEqual([both, both])
  })

  test('get the new name, and a removed member is removed from both', async () => {
    const room = await aRoom()
    const { anna, ben, spaceId } = await aSpaceWithBen(room)
    await changeSpace(room, anna, { spaceId, name: '5b' })
    await removeSpaceMember(room, anna, { spaceId, userId: ben.userId })
    expect((await showSpace(room, anna, { spaceId })).chat.status).toBe('pending')
    await room.work()
    const ids = await roomsOf(room, spaceId)
    expect([room.chat.rooms.nameOf(ids.space), room.chat.rooms.nameOf(ids.room)]).toEqual(['5b', '5b'])
    expect(await joinedIn(room, spaceId)).toEqual([['@anna:acme.example'], ['@anna:acme.example']])
    expect((await showSpace(room, anna, { spaceId })).chat.status).toBe('ready')
  })

  test('stay queued while the box is fenced; the space exists meanwhile', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    room.chat.state.fence = true
    const space = await room.aSpace(anna)
    expect(space.chat).toEqual({ status: 'pending', spaceRoomId: null, roomId: null })
    await room.work()
    room.chat.state.fence = false
    await room.clock.advance(60_000)
    await room.work()
    expect((await showSpace(room, anna, { spaceId: space.id })).chat.status).toBe('ready')
    expect(await room.db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('are announced once, after their creation, to every user who can find the space', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    const ready = async () => (await room.events()).filter(({ type }) => type === 'space.ready')
    room.chat.state.fence = true
    const [own, shown] = [await room.aSpace(anna), await room.aSpace(anna, { visibility: 'TENANT' })]
    await room.work()
    expect(await ready()).toEqual([])
    room.chat.state.fence = false
    await room.clock.advance(60_000)
    await room.work()
    const told = { source: 'core', type: 'space.ready' }
    const both = [
      { ...told, payload: { spaceId: own.id }, audience: { spaces: [own.id] } },
      { ...told, payload: { spaceId: shown.id }, audience: 'tenant' },
    ]
    expect((await ready()).toSorted((a) => (a.payload.spaceId === own.id ? -1 : 1))).toEqual(both)
    await changeSpace(room, anna, { spaceId: own.id, name: '5b' })
    await room.work()
    await reconcile(room)
    expect(await ready()).toHaveLength(2)
  })

  test('stay queued for any time: an unreachable server costs no attempt', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    room.chat.state.down = true
    const { id: spaceId } = await room.aSpace(anna)
    for (let tried = 0; tried < 15; tried++) {
      await room.work()
      await room.clock.advance(3_600_000)
    }
    const rows = await room.db.selectFrom('jobs').select(['status', 'attempts']).execute()
    expect(rows).toEqual([{ status: 'queued', attempts: 0 }])
    room.chat.state.down = false
    await room.work()
    expect((await showSpace(room, anna, { spaceId })).chat.status).toBe('ready')
  })

  test('delay a response for at most five seconds', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    let letGo = () => {}
    room.chat.state.hold = new Promise((resolve) => {
      letGo = resolve
    })
    let over = false
    const made = room.aSpace(anna).finally(() => {
      over = true
    })
    await vi.waitFor(() => expect(room.chat.asked).not.toEqual([]), { timeout: 10_000 })
    await room.clock.advance(4999)
    expect(over).toBe(false)
    await room.clock.advance(1)
    expect((await made).chat.status).toBe('pending')
    room.chat.state.hold = undefined
    letGo()
    await vi.waitFor(async () => expect((await roomsOf(room, (await made).id)).ready).toBe(true), { timeout: 10_000 })
  })

  test.each(Array.from({ length: 18 }, (_, n) => [n + 1]))('are created once, even if the response to request %i is lost', async (lost) => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    let requests = 0
    room.chat.state.lose = { test: () => ++requests === lost }
    const { id: spaceId } = await room.aSpace(anna)
    for (let turn = 0; turn < 3; turn++) {
      await room.clock.advance(60_000)
      await room.work()
    }
    expect(room.chat.rooms.ids()).toHaveLength(2)
    expect(await joinedIn(room, spaceId)).toEqual([['@anna:acme.example'], ['@anna:acme.example']])
    expect((await roomsOf(room, spaceId)).ready).toBe(true)
  })

  test('are created once by two concurrent workers', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    room.chat.state.fence = true
    const { id: spaceId } = await room.aSpace(anna)
    room.chat.state.fence = false
    const codes = await Promise.allSettled([syncSpace(room, spaceId), syncSpace(room, spaceId)])
    expect(codes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(room.chat.rooms.ids()).toHaveLength(2)
  })

  test('are not created a second time while a slow chat server creates them', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    room.chat.state.fence = true
    const { id: spaceId } = await room.aSpace(anna)
    room.chat.state.fence = false
    const begun = room.chat.rooms.beginRoom(`#${roomAliasName('room', spaceId)}:acme.example`, room.clock.now().getTime())
    await expect(syncSpace(room, spaceId)).rejects.toMatchObject({ code: 'HOMESERVER_UNREACHABLE' })
    begun.finish()
    await syncSpace(room, spaceId)
    expect((await roomsOf(room, spaceId)).room).toBe(begun.roomId)
    expect(room.chat.rooms.ids()).toHaveLength(2)
  })

  test('never reuse a room that another user created under the name', async () => {
    const room = await aRoom()
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    const ids = await roomsOf(room, spaceId)
    const [alias] = [...room.chat.rooms.aliases()].find(([, id]) => id === ids.room) ?? []
    const squatted = room.chat.rooms.squat(alias ?? '', '@mallory:acme.example')
    await room.db.updateTable('spaces').set({ chat_room_id: squatted }).execute()
    await reconcile(room)
    const now = await roomsOf(room, spaceId)
    expect(now.room).not.toBe(squatted)
    expect(room.chat.rooms.stateOf(now.room, 'm.space.parent', now.space)).toMatchObject({ canonical: true })
  })

  test('a user unknown to the chat server does not delay other users', async () => {
    const room = await aRoom()
    const [anna, gone, ben] = [await room.aUser('anna'), await room.aUser('gone', { inChat: false }), await room.aUser('ben')]
    const { id: spaceId } = await room.aSpace(anna)
    for (const { userId } of [gone, ben]) await putSpaceMember(room, anna, { spaceId, userId, role: 'member' })
    await room.work()
    expect(await joinedIn(room, spaceId)).toEqual([both, both])
    expect((await roomsOf(room, spaceId)).ready).toBe(true)
  })
})

describe('changes made in the chat', () => {
  test.each(['space', 'room'] as const)(
    'a user who leaves the %s in the chat leaves the space, with an event, and is in neither',
    async (which) => {
      const room = await aRoom()
      const { anna, ben, spaceId } = await aSpaceWithBen(room)
      room.chat.rooms.leave((await roomsOf(room, spaceId))[which], '@ben:acme.example')
      expect(await reconcile(room)).toBe('synced 1 space; 0 chat servers not reached')
      expect((await room.events()).at(-1)).toMatchObject({ type: 'user.left', payload: { userId: ben.userId, spaceId, reason: 'chat' } })
      expect(await room.revoked()).toEqual([spaceId])
      expect((await listSpaceMembers(room, anna, { spaceId, limit: 9 })).members.map(({ userId }) => userId)).toEqual([anna.userId])
      expect(await joinedIn(room, spaceId)).toEqual([['@anna:acme.example'], ['@anna:acme.example']])
    },
  )

  test('a user added by anyone else is removed, and a changed name is restored', async () => {
    const room = await aRoom()
    const { spaceId } = await aSpaceWithBen(room)
    await room.aUser('eve')
    const ids = await roomsOf(room, spaceId)
    room.chat.rooms.put(ids.room, '@eve:acme.example', 'm.room.member', '@eve:acme.example', { membership: 'join' })
    room.chat.rooms.put(ids.room, '@eve:acme.example', 'm.room.name', '', { name: 'ours now' })
    await reconcile(room)
    expect(await joinedIn(room, spaceId)).toEqual([both, both])
    expect(room.chat.rooms.nameOf(ids.room)).toBe('4b')
  })

  test('an unreachable chat server is skipped', async () => {
    const room = await aRoom()
    await aSpaceWithBen(room)
    room.chat.state.down = true
    expect(await reconcile(room)).toBe('synced 0 spaces; 1 chat server not reached')
  })
})

describe('after a restore', () => {
  const restored = async (room: Room) => {
    const command = { boxId: room.box.id, kind: 'tenant-box.restore' } as never
    const result = { outcome: 'restored' } as never
    const listener = spaceResyncListener(room).resultHandlers?.['tenant-box.restore']
    await room.db.transaction().execute(async (tx) => listener?.(tx, command, result))
    for (let turn = 0; turn < 3; turn++) await room.work()
  }

  test('lost rooms are created again with their members, and nobody counts as having left', async () => {
    const room = await aRoom()
    const goBack = room.chat.rooms.backup()
    const { spaceId } = await aSpaceWithBen(room)
    const before = await roomsOf(room, spaceId)
    goBack()
    await restored(room)
    expect(room.chat.rooms.ids()).toHaveLength(2)
    expect(await roomsOf(room, spaceId)).not.toMatchObject({ space: before.space, room: before.room })
    expect((await room.events()).filter(({ type }) => type === 'space.ready')).toHaveLength(2)
    expect(await joinedIn(room, spaceId)).toEqual([both, both])
    expect((await room.events()).filter(({ type }) => type === 'user.left')).toEqual([])
  })

  test.each([
    ['tenant-box.restore', { outcome: 'restored' }, 1],
    ['tenant-box.restore', { outcome: 'failed' }, 0],
    ['tenant-box.update', { rolledBack: true }, 1],
    ['tenant-box.update', { rolledBack: false }, 0],
    ['tenant-box.take_over', { outcome: 'restored' }, 1],
    ['tenant-box.take_over', { outcome: 'failed' }, 0],
  ] as const)('%s that ended %j triggers a check of the tenant’s chat: %i', async (kind, result, times) => {
    const room = await aRoom()
    const listener = spaceResyncListener(room).resultHandlers?.[kind]
    await room.db.transaction().execute(async (tx) => listener?.(tx, { boxId: room.box.id, kind } as never, result as never))
    const noted = await room.db.selectFrom('jobs').select('payload').where('topic', '=', 'chat.spaces-of-tenant').execute()
    expect(noted.map(({ payload }) => JSON.parse(payload))).toEqual(Array.from({ length: times }, () => ({ tenantId: room.tenantId })))
  })

  test('a leave from before the user was added again is ignored', async () => {
    const room = await aRoom()
    const { anna, ben, spaceId } = await aSpaceWithBen(room)
    room.chat.rooms.leave((await roomsOf(room, spaceId)).room, '@ben:acme.example')
    await reconcile(room)
    room.chat.rooms.leave((await roomsOf(room, spaceId)).space, '@ben:acme.example')
    const goBack = room.chat.rooms.backup()
    await putSpaceMember(room, anna, { spaceId, userId: ben.userId, role: 'member' })
    await room.work()
    goBack()
    await restored(room)
    expect(await joinedIn(room, spaceId)).toEqual([both, both])
    expect((await room.events()).filter(({ type }) => type === 'user.left')).toHaveLength(1)
  })

  test('rooms of a space deleted since then are removed again', async () => {
    const room = await aRoom()
    const { anna, spaceId } = await aSpaceWithBen(room)
    const goBack = room.chat.rooms.backup()
    await deleteSpace(room, anna, { spaceId })
    await room.work()
    goBack()
    await restored(room)
    expect([room.chat.rooms.ids(), room.chat.rooms.aliases().size]).toEqual([[], 0])
  })
})
