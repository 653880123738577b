import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChatStep, planChat, type SeenRoom, type SeenSpace, type WantedMember } from '../../../src/core/spaces/index.ts'

const own = new Set(['@tenantry.admin:x'])
const at = (n: number) => new Date(n * 1000).toISOString()
const member = (name: string, chatJoinedAt: string | null = null): WantedMember => ({ userId: name, chatId: `@${name}:x`, chatJoinedAt })

type Given = Readonly<Record<string, readonly [membership: string, sender: string, at: number]>>
const aRoom = (id: string, links: string[], places: Given = {}, name = '4b'): SeenRoom => ({
  id,
  name,
  links,
  places: new Map(Object.entries(places).map(([who, [membership, sender, when]]) => [who, { membership, sender, at: at(when) }])),
})
const seen = (places: Given = {}, inRoom = places): SeenSpace => ({ space: aRoom('!s', ['!r'], places), room: aRoom('!r', ['!s'], inRoom) })
const plan = (members: WantedMember[], now: SeenSpace) => planChat({ name: '4b', members }, now, own)

describe('planning the chat of a space', () => {
  test('what is missing is made before anything else', () => {
    expect(plan([member('anna')], {})).toEqual([
      { do: 'create', kind: 'space' },
      { do: 'create', kind: 'room' },
    ])
    expect(plan([member('anna')], { space: aRoom('!s', []) })).toEqual([{ do: 'create', kind: 'room' }])
  })

  test('one who was never seen in both rooms is put in, whatever its place is', () => {
    for (const places of [{}, { '@anna:x': ['leave', '@anna:x', 5] }, { '@anna:x': ['invite', '@tenantry.admin:x', 5] }] as Given[])
      expect(plan([member('anna')], seen(places))).toEqual([
        { do: 'join', roomId: '!s', chatId: '@anna:x', userId: 'anna' },
        { do: 'join', roomId: '!r', chatId: '@anna:x', userId: 'anna' },
      ])
  })

  test('one who was seen and left by itself since has left; the other room is to be left too', () => {
    const now = seen({ '@anna:x': ['leave', '@anna:x', 9] }, { '@anna:x': ['join', '@anna:x', 5] })
    expect(plan([member('anna', at(5))], now)).toEqual([
      { do: 'left', userId: 'anna', chatJoinedAt: at(5) },
      { do: 'kick', roomId: '!r', chatId: '@anna:x' },
    ])
  })

  test.each([
    ['it was put out by the platform before', 'leave', '@tenantry.admin:x', 9],
    ['its leave is older than what was seen', 'leave', '@anna:x', 4],
  ])('one who was seen is put in again when %s', (_, membership, sender, when) => {
    const steps = plan([member('anna', at(5))], seen({ '@anna:x': [membership, sender, when] }))
    expect(steps.map((step) => step.do)).toEqual(['join', 'join'])
  })

  test('the platform itself is never put out', () => {
    expect(plan([], seen({ '@tenantry.admin:x': ['join', '@tenantry.admin:x', 1] }))).toEqual([])
  })
})

/** A chat that does what it is told, and the platform's memory of it. */
function follow(members: Map<string, string | null>, rooms: Map<string, SeenRoom>, step: ChatStep, now: number): void {
  if (step.do === 'create') rooms.set(step.kind, aRoom(step.kind, []))
  if (step.do === 'seen') members.set(step.userId, step.at)
  if (step.do === 'left') members.delete(step.userId)
  if (!('roomId' in step)) return
  const room = rooms.get(step.roomId) as SeenRoom
  if (step.do === 'link') rooms.set(room.id, { ...room, links: [...room.links, step.to] })
  if (step.do === 'rename') rooms.set(room.id, { ...room, name: '4b' })
  if (step.do !== 'join' && step.do !== 'kick') return
  const place =
    step.do === 'join'
      ? { membership: 'join', sender: step.chatId, at: at(now) }
      : { membership: 'leave', sender: '@tenantry.admin:x', at: at(now) }
  rooms.set(room.id, { ...room, places: new Map([...room.places, [step.chatId, place]]) })
}

test('from any chat and any members it comes to rest, with exactly the members in both rooms', () => {
  const names = ['anna', 'ben', 'eve'] as const
  const place = fc.record({
    who: fc.constantFrom(...names),
    membership: fc.constantFrom('join', 'leave', 'invite', 'knock'),
    bySelf: fc.boolean(),
    when: fc.integer({ min: 1, max: 9 }),
  })
  const room = fc.option(fc.record({ places: fc.array(place), linked: fc.boolean(), name: fc.constantFrom('4b', 'x') }), { nil: undefined })
  const wanted = fc.uniqueArray(fc.record({ who: fc.constantFrom(...names), joined: fc.option(fc.integer({ min: 1, max: 9 })) }), {
    selector: ({ who }) => who,
  })
  fc.assert(
    fc.property(room, room, wanted, (space, main, given) => {
      const rooms = new Map<string, SeenRoom>()
      for (const [id, other, made] of [['space', 'room', space] as const, ['room', 'space', main] as const]) {
        if (!made) continue
        const places = made.places.map(({ who, membership, bySelf, when }) => [
          `@${who}:x`,
          [membership, bySelf ? `@${who}:x` : '@tenantry.admin:x', when] as const,
        ])
        rooms.set(id, aRoom(id, made.linked ? [other] : [], Object.fromEntries(places), made.name))
      }
      const members = new Map(given.map(({ who, joined }) => [who as string, joined === null ? null : at(joined)]))
      const now = () =>
        plan(
          [...members].map(([who, joined]) => member(who, joined)),
          { space: rooms.get('space'), room: rooms.get('room') },
        )
      for (let round = 0; round < 6 && now().length > 0; round++) for (const step of now()) follow(members, rooms, step, 10 + round)
      expect(now()).toEqual([])
      for (const id of ['space', 'room']) {
        const servers = [...(rooms.get(id) as SeenRoom).places].filter(([, { membership }]) => membership !== 'leave').map(([who]) => who)
        expect(servers.toSorted()).toEqual([...members.keys()].map((who) => `@${who}:x`).toSorted())
      }
    }),
  )
})
