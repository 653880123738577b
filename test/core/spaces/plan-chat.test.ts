import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChatStep, type DesiredMember, type ObservedRoom, type ObservedSpace, planChat } from '../../../src/core/spaces/index.ts'

const own = new Set(['@tenantry.admin:x'])
const at = (n: number) => new Date(n * 1000).toISOString()
const member = (name: string, chatJoinedAt: string | null = null): DesiredMember => ({ userId: name, chatId: `@${name}:x`, chatJoinedAt })

type Given = Readonly<Record<string, readonly [membership: string, sender: string, at: number]>>
const aRoom = (id: string, links: string[], members: Given = {}, name = '4b'): ObservedRoom => ({
  id,
  name,
  links,
  members: new Map(Object.entries(members).map(([who, [membership, sender, when]]) => [who, { membership, sender, at: at(when) }])),
})
const seen = (members: Given = {}, inRoom = members): ObservedSpace => ({
  space: aRoom('!s', ['!r'], members),
  room: aRoom('!r', ['!s'], inRoom),
})
const plan = (members: DesiredMember[], now: ObservedSpace) => planChat({ name: '4b', members }, now, own)

describe('planning the chat of a space', () => {
  test('missing rooms are created before anything else', () => {
    expect(plan([member('anna')], {})).toEqual([
      { do: 'create', kind: 'space' },
      { do: 'create', kind: 'room' },
    ])
    expect(plan([member('anna')], { space: aRoom('!s', []) })).toEqual([{ do: 'create', kind: 'room' }])
  })

  test('a member never observed in both rooms is joined, whatever its membership', () => {
    for (const members of [{}, { '@anna:x': ['leave', '@anna:x', 5] }, { '@anna:x': ['invite', '@tenantry.admin:x', 5] }] as Given[])
      expect(plan([member('anna')], seen(members))).toEqual([
        { do: 'join', roomId: '!s', chatId: '@anna:x', userId: 'anna' },
        { do: 'join', roomId: '!r', chatId: '@anna:x', userId: 'anna' },
      ])
  })

  test('a member who left one room has left the space, and is kicked from the other room', () => {
    const now = seen({ '@anna:x': ['leave', '@anna:x', 9] }, { '@anna:x': ['join', '@anna:x', 5] })
    expect(plan([member('anna', at(5))], now)).toEqual([
      { do: 'recordLeft', userId: 'anna', chatJoinedAt: at(5) },
      { do: 'kick', roomId: '!r', chatId: '@anna:x' },
    ])
  })

  test.each([
    ['the platform kicked it', 'leave', '@tenantry.admin:x', 9],
    ['it left before the recorded join', 'leave', '@anna:x', 4],
  ])('a member who was in both rooms is joined again when %s', (_, membership, sender, when) => {
    const steps = plan([member('anna', at(5))], seen({ '@anna:x': [membership, sender, when] }))
    expect(steps.map((step) => step.do)).toEqual(['join', 'join'])
  })

  test('the platform itself is never kicked', () => {
    expect(plan([], seen({ '@tenantry.admin:x': ['join', '@tenantry.admin:x', 1] }))).toEqual([])
  })
})

/** Applies a step to a simulated chat and database. */
function applyStep(members: Map<string, string | null>, rooms: Map<string, ObservedRoom>, step: ChatStep, now: number): void {
  if (step.do === 'create') rooms.set(step.kind, aRoom(step.kind, []))
  if (step.do === 'recordJoined') members.set(step.userId, step.at)
  if (step.do === 'recordLeft') members.delete(step.userId)
  if (!('roomId' in step)) return
  const room = rooms.get(step.roomId) as ObservedRoom
  if (step.do === 'link') rooms.set(room.id, { ...room, links: [...room.links, step.to] })
  if (step.do === 'rename') rooms.set(room.id, { ...room, name: '4b' })
  if (step.do !== 'join' && step.do !== 'kick') return
  const place =
    step.do === 'join'
      ? { membership: 'join', sender: step.chatId, at: at(now) }
      : { membership: 'leave', sender: '@tenantry.admin:x', at: at(now) }
  rooms.set(room.id, { ...room, members: new Map([...room.members, [step.chatId, place]]) })
}

test('from any state the plan converges, with exactly the members in both rooms', () => {
  const names = ['anna', 'ben', 'eve'] as const
  const place = fc.record({
    who: fc.constantFrom(...names),
    membership: fc.constantFrom('join', 'leave', 'invite', 'knock'),
    bySelf: fc.boolean(),
    when: fc.integer({ min: 1, max: 9 }),
  })
  const room = fc.option(fc.record({ members: fc.array(place), linked: fc.boolean(), name: fc.constantFrom('4b', 'x') }), {
    nil: undefined,
  })
  const wanted = fc.uniqueArray(fc.record({ who: fc.constantFrom(...names), joined: fc.option(fc.integer({ min: 1, max: 9 })) }), {
    selector: ({ who }) => who,
  })
  fc.assert(
    fc.property(room, room, wanted, (space, main, given) => {
      const rooms = new Map<string, ObservedRoom>()
      for (const [id, other, made] of [['space', 'room', space] as const, ['room', 'space', main] as const]) {
        if (!made) continue
        const members = made.members.map(({ who, membership, bySelf, when }) => [
          `@${who}:x`,
          [membership, bySelf ? `@${who}:x` : '@tenantry.admin:x', when] as const,
        ])
        rooms.set(id, aRoom(id, made.linked ? [other] : [], Object.fromEntries(members), made.name))
      }
      const members = new Map(given.map(({ who, joined }) => [who as string, joined === null ? null : at(joined)]))
      const now = () =>
        plan(
          [...members].map(([who, joined]) => member(who, joined)),
          { space: rooms.get('space'), room: rooms.get('room') },
        )
      for (let round = 0; round < 6 && now().length > 0; round++) for (const step of now()) applyStep(members, rooms, step, 10 + round)
      expect(now()).toEqual([])
      for (const id of ['space', 'room']) {
        const inside = [...(rooms.get(id) as ObservedRoom).members]
          .filter(([, { membership }]) => membership !== 'leave')
          .map(([who]) => who)
        expect(inside.toSorted()).toEqual([...members.keys()].map((who) => `@${who}:x`).toSorted())
      }
    }),
  )
})
