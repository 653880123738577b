import { onTestFinished } from 'vitest'
import { isoNow, newId } from '../../src/core/kit/index.ts'
import type { PlatformPrincipal } from '../../src/core/sessions/index.ts'
import type { Capability, UserId } from '../../src/core/users/index.ts'
import { type Db, drainOutbox } from '../../src/daemon/db/index.ts'
import { createSpace } from '../../src/daemon/spaces/create-space.ts'
import { spacesWork } from '../../src/daemon/spaces/index.ts'
import { insertUser } from '../../src/daemon/users/users.repo.ts'
import { silentLogger } from '../../src/node/index.ts'
import { aChatServer } from './chat-server.ts'
import { aHomeserverWorld } from './homeserver-world.ts'

type Given = Readonly<{ tenantId?: string; capabilities?: readonly Capability[]; inChat?: boolean }>

/** The spaces of the tenant `acme` over an empty database, with the stand-in of its chat server. */
export async function aSpacesRoom(db: Db) {
  const chat = await aChatServer()
  const world = { ...(await aHomeserverWorld(db, chat)), log: silentLogger() }
  onTestFinished(async () => {
    await world.close()
    await chat.close()
  })

  /** A user of the tenant, with an account in the chat. */
  async function aUser(
    localpart: string,
    { tenantId = world.tenantId, capabilities = [], inChat = true }: Given = {},
  ): Promise<PlatformPrincipal> {
    const at = isoNow(world.clock)
    const id = newId<UserId>(world.random, 'usr')
    const plain = { displayName: null, locale: null, avatarUrl: null, roles: ['member'], status: 'active' } as const
    await db
      .transaction()
      .execute((tx) => insertUser(tx, { id, tenantId: tenantId as never, localpart, ...plain, createdAt: at, updatedAt: at }))
    const account = { password: 'x', admin: false, locked: false, deactivated: false, displayName: null }
    if (inChat) chat.accounts.set(chat.id(localpart), account)
    const known = { userId: id, matrixUserId: chat.id(localpart), tenantId: tenantId as never, tenantSlug: 'acme', sessionId: 'ses_1' }
    return { kind: 'user', ...known, roles: ['member'], capabilities }
  }

  const work = () => drainOutbox({ db, clock: world.clock, log: silentLogger(), handlers: spacesWork(world) })
  const aSpace = (owner: PlatformPrincipal, given: Partial<Parameters<typeof createSpace>[2]> = {}) =>
    createSpace(world, owner, { name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE', ...given })
  const events = async () => {
    const rows = await db.selectFrom('events').selectAll().where('stream', '=', `tenant:${world.tenantId}`).orderBy('seq').execute()
    return rows.map(({ source, event_type, payload, audience }) => ({
      source,
      type: event_type,
      payload: JSON.parse(String(payload)),
      audience: JSON.parse(String(audience)),
    }))
  }
  return { ...world, chat, aUser, aSpace, work, events }
}
