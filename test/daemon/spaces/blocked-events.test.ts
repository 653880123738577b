import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { publishRevocation } from '../../../src/daemon/auth/index.ts'
import { nextSeq } from '../../../src/daemon/db/index.ts'
import { streamOf } from '../../../src/daemon/events/index.ts'
import { removeSpaceMember } from '../../../src/daemon/spaces/change-members.ts'
import { deleteSpace } from '../../../src/daemon/spaces/change-space.ts'
import { changeTenant } from '../../../src/daemon/tenants/change-tenant.ts'
import { changeUser, disableUser } from '../../../src/daemon/users/change-user.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { heldUp } from '../../support/held-up.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

type Room = Awaited<ReturnType<typeof aSpacesWorld>>
type Setting = Readonly<{ room: Room; anna: Awaited<ReturnType<Room['aUser']>>; benId: string; spaceId: string }>

const operator = { kind: 'system', name: 'test' } as const

/** Actions that end sessions or change permissions and publish a tenant event. */
const acts: readonly (readonly [string, (setting: Setting) => Promise<unknown>])[] = [
  ['a member is put out of a space', ({ room, anna, benId, spaceId }) => removeSpaceMember(room, anna, { spaceId, userId: benId })],
  ['a space is deleted', ({ room, anna, spaceId }) => deleteSpace(room, anna, { spaceId })],
  ['a user is disabled', ({ room }) => disableUser(room, operator, { slug: 'acme', localpart: 'ben', reason: 'moved away' })],
  ['a user has other roles', ({ room }) => changeUser(room, operator, { slug: 'acme', localpart: 'ben', roles: ['teacher'] })],
  ['a tenant has other flags', ({ room }) => changeTenant(room as never, operator, { slug: 'acme', featureFlags: { chat: true } })],
]

test.each(acts)('while %s in a tenant whose events are blocked, sessions of other tenants still end', async (_, act) => {
  const { db } = await emptyDatabase('postgres')
  const room = await aSpacesWorld(db)
  const [anna, ben] = [await room.aUser('anna'), await room.aUser('ben')]
  const { id: spaceId } = await room.aSpace(anna)
  await sql`insert into space_members (space_id, user_id, tenant_id, role, joined_at)
    values (${spaceId}, ${ben.userId}, ${room.tenantId}, 'member', '2026-01-05T02:00:00.000Z')`.execute(db)
  let acting: Promise<unknown> = Promise.resolve()
  await db.transaction().execute(async (holding) => {
    await nextSeq(holding, streamOf(room.tenantId))
    acting = act({ room, anna, benId: ben.userId, spaceId })
    acting.catch(() => undefined) // asserted below, once it is released
    await expect.poll(() => heldUp(db)).toBe(1)
    await db.transaction().execute(async (tx) => {
      await sql`set local lock_timeout = '20s'`.execute(tx)
      await publishRevocation(tx, room.clock, { kind: 'user-session', subject: 'ses_of_another' })
    })
  })
  await acting
})
