import { onTestFinished } from 'vitest'
import { type Capability, isoNow, newId, type PlatformPrincipal, type UserId } from '../../src/core/kit/index.ts'
import { matrixUserIdOf } from '../../src/core/users/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { createSpace } from '../../src/daemon/spaces/change-space.ts'
import { spaceSyncJobs } from '../../src/daemon/spaces/index.ts'
import { insertUser } from '../../src/daemon/users/users.repo.ts'
import { drainJobs } from '../../src/daemon/work/index.ts'
import { type Logger, silentLogger } from '../../src/node/index.ts'
import { aChatServer } from './chat-server.ts'
import { aHomeserverWorld, type HomeserverWorld } from './homeserver-world.ts'
import { userPorts } from './user-ports.ts'
import { aRoleBook } from './users-world.ts'

type Given = Readonly<{ tenantId?: string; capabilities?: readonly Capability[]; inChat?: boolean }>

/** The spaces of the tenant `acme` over an empty database, with a simulated chat server. */
export async function aSpacesWorld(db: Db) {
  const chat = await aChatServer()
  const world = { ...(await aHomeserverWorld(db, chat)), log: silentLogger() }
  onTestFinished(async () => {
    await world.close()
    await chat.close()
  })
  const account = { password: 'x', admin: false, locked: false, deactivated: false, displayName: null }
  return { ...world, chat, ...spacesOver(world, async (localpart) => void chat.accounts.set(chat.id(localpart), { ...account })) }
}

/** Users, spaces and their jobs over a connection to any chat server; `makeAccount` creates an account there. */
export function spacesOver(world: HomeserverWorld & Readonly<{ log: Logger }>, makeAccount: (localpart: string) => Promise<void>) {
  const { db } = world

  /** A user of the tenant who may add any user to spaces, with an account in the chat. */
  async function aUser(
    localpart: string,
    { tenantId = world.tenantId, capabilities = ['manageSpaces'], inChat = true }: Given = {},
  ): Promise<PlatformPrincipal> {
    const at = isoNow(world.clock)
    const id = newId<UserId>(world.random, 'usr')
    const plain = { displayName: null, locale: null, avatarUrl: null, roles: ['member'], status: 'active' } as const
    await db
      .transaction()
      .execute((tx) => insertUser(tx, { id, tenantId: tenantId as never, localpart, ...plain, createdAt: at, updatedAt: at }))
    if (inChat) await makeAccount(localpart)
    const known = {
      userId: id,
      matrixUserId: matrixUserIdOf(localpart, world.chatDomain),
      tenantId: tenantId as never,
      tenantSlug: 'acme',
      sessionId: 'ses_1',
    }
    return { kind: 'user', ...known, roles: ['member'], capabilities }
  }

  const work = () => drainJobs({ db, clock: world.clock, log: silentLogger(), handlers: spaceSyncJobs(world) })
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
  /** Spaces whose membership shrank according to published revocations; their downloads are checked again. */
  const revoked = async () => {
    const rows = await db.selectFrom('revocations').select('subject').where('kind', '=', 'space').orderBy('seq').execute()
    return rows.map(({ subject }) => subject)
  }
  return { roles: aRoleBook, ...userPorts, aUser, aSpace, work, events, revoked }
}
