import { expect, test } from 'vitest'
import { isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import { spaceActivity } from '../../../src/daemon/spaces/activity.ts'
import { putSpaceMember, removeSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { changeSpace, deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { membersOf, spacesOf } from '../../../src/daemon/spaces/index.ts'
import { listSpaceMembers, listSpaces, showSpace } from '../../../src/daemon/spaces/show-spaces.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

const refusedWith = (code: ProblemCode) => (error: unknown) => isProblem(error, code)
const all = { limit: 50 }

onBothDialects('spaces', (fresh) => {
  test('a new space has its creator as owner, its events and its rooms', async () => {
    const room = await aSpacesWorld(await fresh())
    const anna = await room.aUser('anna')
    const space = await room.aSpace(anna)
    expect(space).toMatchObject({ name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE', role: 'owner', chat: { status: 'ready' } })
    expect(await room.events()).toEqual([
      { source: 'core', type: 'space.created', payload: { spaceId: space.id, name: '4b' }, audience: { spaces: [space.id] } },
      { source: 'core', type: 'user.joined', payload: { userId: anna.userId, spaceId: space.id }, audience: { spaces: [space.id] } },
      { source: 'core', type: 'space.ready', payload: { spaceId: space.id }, audience: { spaces: [space.id] } },
    ])
    expect(room.chat.rooms.ids()).toHaveLength(2)
    expect(await spacesOf(room.db, anna)).toEqual([{ id: space.id, name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE', role: 'owner' }])
    expect(await membersOf(room.db, [space.id])).toEqual(new Map([[space.id, new Set([anna.userId])]]))
  })

  test('a private space is hidden from others; a tenant-wide space is found by all and opened by members only', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
    const hidden = await room.aSpace(anna)
    const shown = await room.aSpace(anna, { name: 'Notices', visibility: 'TENANT' })
    expect((await listSpaces(room, ben, all)).spaces).toMatchObject([{ id: shown.id, role: null }])
    expect(await showSpace(room, ben, { spaceId: shown.id })).toMatchObject({ name: 'Notices', role: null })
    for (const read of [
      () => showSpace(room, ben, { spaceId: hidden.id }),
      () => spaceActivity(room, ben, { spaceId: hidden.id, ...all }),
      () => spaceActivity(room, ben, { spaceId: shown.id, ...all }),
      () => listSpaceMembers(room, ben, { spaceId: shown.id, ...all }),
      () => putSpaceMember(room, ben, { spaceId: hidden.id, userId: ben.userId, role: 'member' }),
      () => deleteSpace(room, ben, { spaceId: hidden.id }),
    ])
      await expect(read()).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await expect(deleteSpace(room, ben, { spaceId: shown.id })).rejects.toSatisfy(refusedWith('FORBIDDEN'))
    await expect(putSpaceMember(room, ben, { spaceId: shown.id, userId: ben.userId, role: 'member' })).rejects.toSatisfy(
      refusedWith('FORBIDDEN'),
    )
  })

  test('an owner who may not create spaces can add only visible users: of a shared space, or all with the permission', async () => {
    const room = await aSpacesWorld(await fresh())
    const anna = await room.aUser('anna', { capabilities: [] })
    const [ben, cem] = [await room.aUser('ben'), await room.aUser('cem')]
    const [own, shared] = [await room.aSpace(anna), await room.aSpace(ben, { visibility: 'PUBLIC' })]
    const put = (who: typeof anna) => putSpaceMember(room, anna, { spaceId: own.id, userId: who.userId, role: 'member' })
    await expect(put(ben)).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await putSpaceMember(room, anna, { spaceId: shared.id, userId: anna.userId, role: 'member' })
    expect(await put(ben)).toMatchObject({ userId: ben.userId })
    await expect(put(cem)).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    const seeing = { ...anna, capabilities: ['readContacts'] } as const
    expect(await putSpaceMember(room, seeing, { spaceId: own.id, userId: cem.userId, role: 'member' })).toMatchObject({
      userId: cem.userId,
    })
  })

  test('a disabled owner is made a member by another owner, who sees the user among the members only', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna', { capabilities: [] }), await room.aUser('ben')]
    const space = await room.aSpace(ben)
    const put = (by: typeof ben, who: typeof ben, role: 'owner' | 'member') =>
      putSpaceMember(room, by, { spaceId: space.id, userId: who.userId, role })
    await put(ben, anna, 'owner')
    await room.db.updateTable('users').set({ status: 'disabled' }).where('id', '=', ben.userId).execute()
    expect(await put(anna, ben, 'member')).toMatchObject({ userId: ben.userId, role: 'member' })
  })

  test('no object of another tenant is accessible, even to a tenant administrator', async () => {
    const room = await aSpacesWorld(await fresh())
    await room.db
      .insertInto('tenants')
      .values({
        ...{ id: 'ten_other', slug: 'other', name: 'Other', chat_domain: 'other.example', plan: 'light', status: 'active' },
        ...{ time_zone: null, maintenance_window: null, created_at: '2026-01-01T00:00:00.000Z', feature_flags: '{}' },
      } as never)
      .execute()
    const anna = await room.aUser('anna')
    const stranger = await room.aUser('eve', { tenantId: 'ten_other', capabilities: ['manageSpaces', 'manageUsers'] })
    const space = await room.aSpace(anna, { visibility: 'PUBLIC' })
    const own = { spaceId: space.id, userId: stranger.userId }
    for (const reach of [
      () => showSpace(room, stranger, own),
      () => listSpaceMembers(room, stranger, { ...own, ...all }),
      () => spaceActivity(room, stranger, { ...own, ...all }),
      () => changeSpace(room, stranger, { ...own, name: 'mine' }),
      () => deleteSpace(room, stranger, own),
      () => putSpaceMember(room, stranger, { ...own, role: 'member' }),
      () => removeSpaceMember(room, stranger, { ...own, userId: anna.userId }),
      () => putSpaceMember(room, anna, { ...own, role: 'member' }),
    ])
      await expect(reach()).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect((await listSpaces(room, stranger, all)).spaces).toEqual([])
  })

  test('a public space can be joined and left; the last owner stays', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
    const { id: spaceId } = await room.aSpace(anna, { visibility: 'PUBLIC' })
    const own = { spaceId, userId: ben.userId }
    await expect(putSpaceMember(room, ben, { ...own, role: 'owner' })).rejects.toSatisfy(refusedWith('FORBIDDEN'))
    expect(await putSpaceMember(room, ben, { ...own, role: 'member' })).toMatchObject({ matrixUserId: '@ben:acme.example', role: 'member' })
    await putSpaceMember(room, ben, { ...own, role: 'member' })
    expect((await room.events()).filter(({ type }) => type === 'user.joined')).toHaveLength(2)
    await expect(removeSpaceMember(room, ben, { spaceId, userId: anna.userId })).rejects.toSatisfy(refusedWith('FORBIDDEN'))
    await removeSpaceMember(room, ben, own)
    expect((await room.events()).at(-1)).toMatchObject({
      type: 'user.left',
      payload: { userId: ben.userId, spaceId, reason: 'left' },
      audience: { users: [ben.userId], spaces: [spaceId] },
    })
    await expect(removeSpaceMember(room, anna, { spaceId, userId: anna.userId })).rejects.toSatisfy(refusedWith('CONFLICT'))
    await expect(putSpaceMember(room, anna, { spaceId, userId: anna.userId, role: 'member' })).rejects.toSatisfy(refusedWith('CONFLICT'))
    await expect(removeSpaceMember(room, anna, own)).rejects.toSatisfy(refusedWith('NOT_FOUND'))
  })

  test('an added member reads the activity, newest first; a removed member cannot', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
    const { id: spaceId } = await room.aSpace(anna)
    await putSpaceMember(room, anna, { spaceId, userId: ben.userId, role: 'member' })
    const first = await spaceActivity(room, ben, { spaceId, limit: 2 })
    expect(first.activity.map(({ type, actorId, ids }) => [type, actorId, ids])).toEqual([
      ['user.joined', anna.userId, { userId: ben.userId, spaceId }],
      ['user.joined', anna.userId, { userId: anna.userId, spaceId }],
    ])
    const rest = await spaceActivity(room, ben, { spaceId, limit: 2, cursor: first.nextCursor ?? '' })
    expect([rest.activity.map(({ type }) => type), rest.nextCursor]).toEqual([['space.created'], null])
    await expect(spaceActivity(room, ben, { spaceId, limit: 2, cursor: 'the next' })).rejects.toSatisfy(refusedWith('VALIDATION'))
    await removeSpaceMember(room, anna, { spaceId, userId: ben.userId })
    await expect(spaceActivity(room, ben, { spaceId, ...all })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
  })

  test('a tenant administrator manages a private space without membership, and reads it only as a member', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, head] = [await room.aUser('anna'), await room.aUser('head', { capabilities: ['manageSpaces', 'manageUsers'] })]
    const teacher = await room.aUser('teacher', { capabilities: ['manageSpaces'] })
    const { id: spaceId } = await room.aSpace(anna)
    expect((await listSpaceMembers(room, head, { spaceId, ...all })).members).toHaveLength(1)
    await expect(spaceActivity(room, head, { spaceId, ...all })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    await expect(showSpace(room, teacher, { spaceId })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect(await changeSpace(room, head, { spaceId, name: '4c' })).toMatchObject({ name: '4c', role: null })
  })

  test('users who can or could find the space get an event for a new name or visibility; an unchanged value publishes none', async () => {
    const room = await aSpacesWorld(await fresh())
    const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben', { capabilities: [] })]
    const { id: spaceId } = await room.aSpace(anna)
    const finds = async () => (await listSpaces(room, ben, { limit: 10 })).spaces.length === 1
    for (const [changes, audience, isFound] of [
      [{ name: '4c' }, { spaces: [spaceId] }, false],
      [{ visibility: 'TENANT' }, 'tenant', true],
      [{ name: '4d', visibility: 'PUBLIC' }, 'tenant', true],
      [{ visibility: 'PRIVATE' }, 'tenant', false],
    ] as const) {
      expect(await changeSpace(room, anna, { spaceId, ...changes })).toMatchObject({ ...changes, role: 'owner' })
      expect((await room.events()).at(-1)).toEqual({ source: 'core', type: 'space.updated', payload: { spaceId, ...changes }, audience })
      expect(await finds()).toBe(isFound)
    }
    const [told, { updatedAt, chat }] = [await room.events(), await showSpace(room, anna, { spaceId })]
    await room.clock.advance(1000)
    expect(await changeSpace(room, anna, { spaceId, name: '4d', visibility: 'PRIVATE' })).toMatchObject({ updatedAt, chat })
    expect(await room.events()).toEqual(told)
  })

  test('a deleted space is gone for all, with an event for each member', async () => {
    const room = await aSpacesWorld(await fresh())
    const anna = await room.aUser('anna')
    const { id: spaceId } = await room.aSpace(anna)
    await deleteSpace(room, anna, { spaceId })
    expect((await room.events()).slice(-2)).toEqual([
      {
        source: 'core',
        type: 'user.left',
        payload: { userId: anna.userId, spaceId, reason: 'space_deleted' },
        audience: { users: [anna.userId] },
      },
      { source: 'core', type: 'space.deleted', payload: { spaceId }, audience: { users: [anna.userId] } },
    ])
    await expect(showSpace(room, anna, { spaceId })).rejects.toSatisfy(refusedWith('NOT_FOUND'))
    expect(await spacesOf(room.db, anna)).toEqual([])
    expect(await room.revoked()).toEqual([spaceId])
    await room.work()
    expect([room.chat.rooms.ids(), room.chat.rooms.aliases().size]).toEqual([[], 0])
  })
})
