import { expect, test, vi } from 'vitest'
import type { Homeserver } from '../../../src/core/homeserver/index.ts'
import { secret } from '../../../src/core/kit/index.ts'
import {
  administratorOf,
  beginDeletion,
  createRoom,
  dropAlias,
  findRoom,
  joinRoom,
  kickFrom,
  linkRooms,
  readRoom,
  renameRoom,
} from '../../../src/daemon/spaces/chat-rooms.ts'

type Subject = Readonly<{ homeserver: Homeserver; chatDomain: string }>

/** How a chat server responds about rooms of spaces; runs against the simulation and a real box. */
export function roomsSuite(subject: () => Subject): void {
  let names = 0
  const aSpaceId = () => `spc_suite${++names}`
  const made = async (spaceId = aSpaceId(), kind: 'space' | 'room' = 'room') => {
    const roomId = await createRoom(subject(), { kind, spaceId, name: '4b' })
    if (!roomId) throw new Error('the name was taken')
    return { spaceId, roomId }
  }
  const aUser = async () => {
    const localpart = `member${++names}`
    await subject().homeserver.createUser({ localpart, password: secret('a good password') })
    return `@${localpart}:${subject().chatDomain}`
  }
  const placeOf = async (roomId: string, chatId: string) => (await readRoom(subject(), roomId))?.room.members.get(chatId)

  test('a created room is complete, has its name, and is found by its alias', async () => {
    const { spaceId, roomId } = await made()
    expect(await findRoom(subject(), { kind: 'room', spaceId })).toBe(roomId)
    expect(await readRoom(subject(), roomId)).toMatchObject({ whole: true, room: { id: roomId, name: '4b', links: [] } })
    expect(await placeOf(roomId, administratorOf(subject()))).toMatchObject({ membership: 'join' })
  })

  test('a second room with the same alias is refused', async () => {
    const { spaceId } = await made()
    expect(await createRoom(subject(), { kind: 'room', spaceId, name: '4b' })).toBeUndefined()
  })

  test('an unknown alias returns no room', async () => {
    expect(await findRoom(subject(), { kind: 'room', spaceId: 'spc_none' })).toBeUndefined()
    expect(await readRoom(subject(), `!none:${subject().chatDomain}`)).toBeUndefined()
    await dropAlias(subject(), { kind: 'room', spaceId: 'spc_none' })
  })

  test('the platform adds a user, also twice, and removes the user', async () => {
    const { roomId } = await made()
    const chatId = await aUser()
    expect([await joinRoom(subject(), { roomId, chatId }), await joinRoom(subject(), { roomId, chatId })]).toEqual([true, true])
    expect(await placeOf(roomId, chatId)).toMatchObject({ membership: 'join', at: expect.stringMatching(/^20\d\d-/) })
    expect(await kickFrom(subject(), { roomId, chatId })).toBe(true)
    expect(await placeOf(roomId, chatId)).toMatchObject({ membership: 'leave', sender: administratorOf(subject()) })
    expect(await kickFrom(subject(), { roomId, chatId })).toBe(false)
    expect(await joinRoom(subject(), { roomId, chatId })).toBe(true)
  })

  test('an unknown user is not added', async () => {
    const { roomId } = await made()
    expect(await joinRoom(subject(), { roomId, chatId: `@nobody-at-all:${subject().chatDomain}` })).toBe(false)
  })

  test('names and links are read as they were set', async () => {
    const spaceId = aSpaceId()
    const [{ roomId: space }, { roomId: room }] = [await made(spaceId, 'space'), await made(spaceId)]
    await linkRooms(subject(), { from: 'space', roomId: space, to: room })
    await linkRooms(subject(), { from: 'room', roomId: room, to: space })
    await renameRoom(subject(), room, '5b Ö')
    expect(await readRoom(subject(), space)).toMatchObject({ room: { links: [room] } })
    expect(await readRoom(subject(), room)).toMatchObject({ room: { links: [space], name: '5b Ö' } })
  })

  test('the platform may create more rooms at once than a user', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => made()))
    expect(new Set(ids.map(({ roomId }) => roomId)).size).toBe(12)
  })

  test('a deleted room is gone, and its alias is free', async () => {
    const { spaceId, roomId } = await made()
    await joinRoom(subject(), { roomId, chatId: await aUser() })
    await beginDeletion(subject(), roomId)
    await vi.waitFor(async () => expect((await readRoom(subject(), roomId))?.whole ?? false).toBe(false), { timeout: 20_000 })
    await beginDeletion(subject(), roomId)
    await dropAlias(subject(), { kind: 'room', spaceId })
    expect(await findRoom(subject(), { kind: 'room', spaceId })).toBeUndefined()
    await made(spaceId)
  }, 30_000)
}
