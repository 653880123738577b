import { onTestFinished } from 'vitest'
import { makeClient } from '../../src/core/contract/index.ts'
import { quotasInBytes } from '../../src/core/files/index.ts'
import { tenantsContract } from '../../src/core/tenants/index.ts'
import { type RoleBook, usersContract } from '../../src/core/users/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { fileUsageOf } from '../../src/daemon/files/index.ts'
import { spaceSyncJobs } from '../../src/daemon/spaces/index.ts'
import { tenantsRoutes } from '../../src/daemon/tenants/index.ts'
import { userResyncJobs, userSyncJobs, usersRoutes } from '../../src/daemon/users/index.ts'
import { drainJobs } from '../../src/daemon/work/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { anOperator } from './boxes-world.ts'
import { aChatServer } from './chat-server.ts'
import { aHomeserverWorld } from './homeserver-world.ts'
import { servedApp } from './served-app.ts'
import { userPorts } from './user-ports.ts'

export const aRoleBook: RoleBook = {
  defaultRole: 'member',
  roles: {
    member: { capabilities: [] },
    teacher: { capabilities: ['manageSpaces', 'manageBoards', 'manageRuns'] },
    'tenant-admin': { capabilities: ['manageUsers', 'manageSpaces'] },
  },
}

/** The users of the tenant `acme` over an empty database, with a simulated chat server, and the endpoints over HTTP. */
export async function aUsersWorld(db: Db) {
  const chat = await aChatServer()
  const world = { ...(await aHomeserverWorld(db, chat)), roles: aRoleBook, log: silentLogger(), ...userPorts }
  onTestFinished(async () => {
    await world.close()
    await chat.close()
  })
  const { url: baseUrl } = await servedApp(
    [...usersRoutes(world), ...tenantsRoutes({ ...world, fileUsageOf: fileUsageOf(quotasInBytes({ light: 1, pro: 2, dedicated: 3 })) })],
    {
      authenticate: { admin: async () => ({ ...anOperator, role: 'admin' }) },
      clock: world.clock,
    },
  )
  const api = makeClient({ ...usersContract, ...tenantsContract }, { baseUrl, headers: () => ({ connection: 'close' }) })
  const handlers = { ...userSyncJobs(world), ...userResyncJobs(world), ...spaceSyncJobs(world), 'alerts.tell': async () => undefined }
  const work = () => drainJobs({ db, clock: world.clock, log: silentLogger(), handlers })
  return { ...world, chat, api, work, baseUrl }
}
