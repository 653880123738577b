import { beforeAll, expect, test } from 'vitest'
import { type PlatformPrincipal, secret } from '../../../src/core/kit/index.ts'
import { putSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { spacesJobs } from '../../../src/daemon/spaces/index.ts'
import { listSpaceMembers, showSpace } from '../../../src/daemon/spaces/show-spaces.ts'
import { spaceResyncListener } from '../../../src/daemon/spaces/sync-jobs.ts'
import { silentLogger, systemClock } from '../../../src/node/index.ts'
import type { HomeserverWorld } from '../../support/homeserver-world.ts'
import { spacesOver } from '../../support/spaces-world.ts'
import { eventually } from './programs.ts'

type Subject = Readonly<{
  world: HomeserverWorld
  publicUrl: string
  /** Keeps the chat server's database as it is now; what is returned brings it back, as a restore would. */
  backUp(): Promise<() => Promise<void>>
}>

type Person = PlatformPrincipal & Readonly<{ chatToken: string }>

/** Rules for spaces in a real Synapse, and for actions of members there. Each test continues the one before. */
export function spacesSuite(subject: () => Subject): void {
  const password = secret('a good password')
  let room: HomeserverWorld & ReturnType<typeof spacesOver> & { log: ReturnType<typeof silentLogger> }
  let [anna, ben, cara] = [] as unknown as [Person, Person, Person]
  let spaceId: string

  beforeAll(async () => {
    const world = { ...subject().world, clock: systemClock as HomeserverWorld['clock'], log: silentLogger() }
    room = { ...world, ...spacesOver(world, async (localpart) => void (await world.homeserver.createUser({ localpart, password }))) }
    ;[anna, ben, cara] = [await aPerson('anna-of-spaces'), await aPerson('ben-of-spaces'), await aPerson('cara-of-spaces')]
  })

  async function aPerson(localpart: string): Promise<Person> {
    const user = await room.aUser(localpart)
    const opened = await room.homeserver.login({ localpart, password, deviceName: 'Phone' })
    if (opened.kind !== 'ok') throw new Error(`${localpart} was not let in: ${opened.kind}`)
    return { ...user, chatToken: opened.accessToken.reveal() }
  }

  /** As the chat client of a member asks, through the edge. */
  async function asking(who: Person, method: string, path: string, body?: unknown) {
    const response = await fetch(`${subject().publicUrl}/_matrix/client/v3/${path}`, {
      method,
      headers: { authorization: `Bearer ${who.chatToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  const roomsOf = async (who: Person) => ((await asking(who, 'GET', 'joined_rooms')).json.joined_rooms as string[]).toSorted()

  async function inChat(id: string) {
    await room.work()
    const { chat } = await showSpace(room, anna, { spaceId: id })
    return chat.status === 'ready' && ([chat.spaceRoomId, chat.roomId] as [string, string])
  }
  /** The Matrix space and its room, once the chat server has all of it. */
  const chatOf = (id: string) => eventually(`${id} is in the chat`, () => inChat(id))
  const comesIntoRooms = (who: Person, count: number) =>
    eventually(`${who.matrixUserId} is in ${count} rooms`, async () => {
      await room.work()
      return (await roomsOf(who)).length === count
    })
  const put = (id: string, { userId }: Person) => putSpaceMember(room, anna, { spaceId: id, userId, role: 'member' })
  const reconcile = () => spacesJobs(room)[0]?.run({ signal: new AbortController().signal })
  const leavesIn = async () => (await room.events()).filter(({ type }) => type === 'user.left')

  test('a space stands there with its room, and its members are in both', async () => {
    spaceId = (await room.aSpace(anna)).id
    await put(spaceId, ben)
    const ids = await chatOf(spaceId)
    expect([await roomsOf(anna), await roomsOf(ben)]).toEqual([ids.toSorted(), ids.toSorted()])
    const seen = (await asking(ben, 'GET', `rooms/${encodeURIComponent(ids[0])}/state`)).json as unknown as {
      type: string
      state_key: string
    }[]
    expect(seen).toContainEqual(expect.objectContaining({ type: 'm.space.child', state_key: ids[1] }))
  })

  test('a member can talk there, and neither invite nor name nor put out nor change who may', async () => {
    for (const id of (await chatOf(spaceId)).map(encodeURIComponent)) {
      const tried = [
        await asking(ben, 'POST', `rooms/${id}/invite`, { user_id: cara.matrixUserId }),
        await asking(ben, 'PUT', `rooms/${id}/state/m.room.name`, { name: 'ours' }),
        await asking(ben, 'PUT', `rooms/${id}/state/m.room.join_rules`, { join_rule: 'public' }),
        await asking(ben, 'PUT', `rooms/${id}/state/m.room.power_levels`, { users: { [ben.matrixUserId]: 100 } }),
        await asking(ben, 'POST', `rooms/${id}/kick`, { user_id: anna.matrixUserId }),
        await asking(ben, 'POST', `rooms/${id}/ban`, { user_id: anna.matrixUserId }),
        await asking(cara, 'POST', `rooms/${id}/join`, {}),
      ]
      expect(tried.map(({ status, json }) => [status, json.errcode])).toEqual(tried.map(() => [403, 'M_FORBIDDEN']))
    }
    const [, main] = await chatOf(spaceId)
    const said = await asking(ben, 'PUT', `rooms/${encodeURIComponent(main)}/send/m.room.message/1`, { msgtype: 'm.text', body: 'hello' })
    expect(said.status).toBe(200)
  })

  test('who leaves there has left the space, and is in neither room', async () => {
    const [, main] = await chatOf(spaceId)
    expect((await asking(ben, 'POST', `rooms/${encodeURIComponent(main)}/leave`, {})).status).toBe(200)
    expect(await reconcile()).toContain('0 chat servers not reached')
    expect(await leavesIn()).toMatchObject([{ payload: { userId: ben.userId, spaceId, reason: 'chat' } }])
    expect((await listSpaceMembers(room, anna, { spaceId, limit: 9 })).members.map(({ userId }) => userId)).toEqual([anna.userId])
    expect(await roomsOf(ben)).toEqual([])
  })

  test('after a restore the chat matches the platform: rooms are created again, members added, deleted rooms removed, no leaves recorded', async () => {
    const { id: deleted } = await room.aSpace(anna)
    await chatOf(deleted)
    const bringBack = await subject().backUp()
    await put(spaceId, ben)
    const { id: newer } = await room.aSpace(anna, { name: '5b' })
    await put(newer, ben)
    const [kept, lost] = [await chatOf(spaceId), await chatOf(newer)]
    await deleteSpace(room, anna, { spaceId: deleted })
    await comesIntoRooms(anna, 4)

    await bringBack()
    expect(await roomsOf(ben)).toEqual([])
    const restored = spaceResyncListener(room).resultHandlers?.['tenant-box.restore']
    const [command, result] = [{ boxId: room.box.id, kind: 'tenant-box.restore' } as never, { outcome: 'restored' } as never]
    await room.db.transaction().execute(async (tx) => restored?.(tx, command, result))
    await comesIntoRooms(ben, 4)
    await comesIntoRooms(anna, 4)
    const again = await chatOf(newer)
    expect(again).not.toEqual(lost)
    expect([await roomsOf(anna), await roomsOf(ben)]).toEqual([[...kept, ...again].toSorted(), [...kept, ...again].toSorted()])
    expect((await leavesIn()).filter(({ payload }) => (payload as { reason: string }).reason === 'chat')).toHaveLength(1)
  }, 240_000)
}
