import { pino } from 'pino'
import { boardsContract, bundleContract, operatorBoardsContract } from '../../src/core/boards/index.ts'
import { bootstrapContract } from '../../src/core/bootstrap/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import type { Homeservers } from '../../src/core/homeserver/index.ts'
import { isoNow, manualClock, type PlatformPrincipal, problem, type UserId } from '../../src/core/kit/index.ts'
import { profileContract } from '../../src/core/profile/index.ts'
import { operatorRunsContract, runsContract } from '../../src/core/runs/index.ts'
import type { OwnSpace } from '../../src/core/spaces/index.ts'
import { supportContract } from '../../src/core/support/index.ts'
import { tasksContract } from '../../src/core/tasks/index.ts'
import { capabilitiesOf, matrixUserIdOf, RoleBook } from '../../src/core/users/index.ts'
import { bootstrapRoutes } from '../../src/daemon/bootstrap/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { flowsFeature, runTasks } from '../../src/daemon/flows/index.ts'
import { triggersOfBoards } from '../../src/daemon/flows/triggers/triggers-of-boards.ts'
import { nextMaintenance } from '../../src/daemon/maintenance/index.ts'
import { modulesOfTenant } from '../../src/daemon/modules/index.ts'
import { profileRoutes } from '../../src/daemon/profile/index.ts'
import { supportFeature } from '../../src/daemon/support/index.ts'
import { tasksFeature } from '../../src/daemon/tasks/index.ts'
import { findUserById } from '../../src/daemon/users/index.ts'
import { insertUser } from '../../src/daemon/users/users.repo.ts'
import { systemRandom } from '../../src/node/index.ts'
import { anOperator } from './boxes-world.ts'
import { servedApp } from './served-app.ts'
import { twoTenants } from './sessions-world.ts'

const taskRoles = RoleBook.parse({
  defaultRole: 'member',
  roles: {
    member: {},
    teacher: { listed: true },
    'school-principal': { listed: true },
    builder: { capabilities: ['manageBoards'] },
    head: { listed: true, capabilities: ['manageBoards', 'manageRuns', 'manageUsers'] },
  },
})

/** Users of the tenants `one` and `two`, by id. */
const people = [
  ['anna', 'one', ['member']],
  ['ben', 'one', ['member']],
  ['tim', 'one', ['teacher']],
  ['mia', 'one', ['head']],
  ['olga', 'two', ['head', 'teacher']],
] as const

/** Only boards with chat triggers ask the chat server. */
const noChat: Homeservers = {
  of: () => {
    throw new Error('not needed here')
  },
}

/** A replica that serves tasks, profile and bootstrap over HTTP; a second call over the same database is a second replica. */
export async function aTasksWorld(db: Db, { isFirst = true, clock = manualClock() } = {}) {
  if (isFirst) await settle(db)
  const spaces = new Map<string, OwnSpace[]>()
  const deps = {
    db,
    clock,
    random: systemRandom,
    roles: taskRoles,
    modulesOf: modulesOfTenant,
    nextMaintenance,
    spacesOf: spacesFrom(spaces),
    roomsOf: async (_: unknown, { tenantId }: Readonly<{ tenantId: string }>) =>
      tenantId === 'ten_one' ? ['!hall:school'] : ['!hall:other'],
    // Ben is a member of no space.
    ownRoomsOf: async (_: unknown, { tenantId, userId }: Readonly<{ tenantId: string; userId: string }>) =>
      userId === 'ben' ? [] : tenantId === 'ten_one' ? ['!hall:school'] : ['!hall:other'],
    runTasks: runTasks({ clock, random: systemRandom }),
    log: pino({ enabled: false }),
    sendMessage: async () => '$event',
    eraseFiles: async () => undefined,
    storeFile: async ({ id }: Readonly<{ id: string }>) => ({ id }),
    storeReport: async () => ({ markdownFileId: 'fil_md', pdfFileId: 'fil_pdf' }),
    ...triggersOfBoards({ clock, timeZone: 'UTC', homeservers: noChat }),
  }
  const routes = [tasksFeature, flowsFeature, supportFeature].flatMap((feature) => feature.routes?.(deps as never) ?? [])
  const { url: baseUrl } = await servedApp([...routes, ...profileRoutes(deps), ...bootstrapRoutes(deps)], {
    authenticate: {
      platform: (authorization) => principalOf(db, authorization?.slice('Bearer '.length) ?? ''),
      admin: async () => anOperator,
    },
    clock,
  })
  const ofBoards = { ...boardsContract, ...bundleContract, ...runsContract, ...supportContract }
  const contract = { ...tasksContract, ...ofBoards, ...profileContract, ...bootstrapContract }
  const operator = makeClient({ ...operatorBoardsContract, ...operatorRunsContract }, { baseUrl, headers: () => ({ connection: 'close' }) })
  const as = (who: string) => makeClient(contract, { baseUrl, headers: () => ({ authorization: `Bearer ${who}`, connection: 'close' }) })
  return { ...deps, spaces, baseUrl, as, operator }
}

export type TasksWorld = Awaited<ReturnType<typeof aTasksWorld>>

async function settle(db: Db): Promise<void> {
  await twoTenants(db)
  const at = isoNow(manualClock())
  for (const [id, tenant, roles] of people) {
    const rest = { displayName: null, locale: null, avatarUrl: null, status: 'active', createdAt: at, updatedAt: at } as const
    const user = { id: id as UserId, tenantId: `ten_${tenant}` as never, localpart: id, roles: [...roles], ...rest }
    await db.transaction().execute((tx) => insertUser(tx, user))
  }
}

const spacesFrom =
  (spaces: ReadonlyMap<string, OwnSpace[]>) =>
  async (_: unknown, { userId }: Readonly<{ userId: string }>) =>
    spaces.get(userId) ?? []

export const aSpace = (id: string, name = id): OwnSpace => ({
  ...{ id: id as OwnSpace['id'], name, type: 'CLASSROOM', visibility: 'PRIVATE', role: 'member' },
})

/** The principal of a user, with the roles of its record. */
export async function principalOf(db: Db, userId: string): Promise<PlatformPrincipal> {
  const user = await findUserById(db, userId)
  if (!user) throw problem('UNAUTHENTICATED', 'nobody of that name')
  const tenantSlug = user.tenantId.slice('ten_'.length)
  return {
    ...{ kind: 'user', userId: user.id, tenantId: user.tenantId, tenantSlug, sessionId: `ses_${userId}`, roles: user.roles },
    ...{
      matrixUserId: matrixUserIdOf(user.localpart, `chat.${tenantSlug}.example`),
      capabilities: capabilitiesOf(taskRoles, { tenantSlug, roles: user.roles }),
    },
  }
}

/** `ok` or the problem code. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  )
