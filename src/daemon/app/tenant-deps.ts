import { quotasInBytes } from '../../core/files/index.ts'
import { openSigningKeys, type Revocations } from '../auth/index.ts'
import { openEdge } from '../edge/index.ts'
import { openEvents, type TenantIdOf } from '../events/index.ts'
import { makeChatClient, makeHomeservers, ofReaders, plainNetworks } from '../homeserver/index.ts'
import type { HttpMetrics } from '../http/index.ts'
import { openLimits } from '../limits/index.ts'
import { openObjectStore } from '../objects/index.ts'
import { openActiveUsers } from '../payments/index.ts'
import { schoolAccess } from '../school/index.ts'
import { authenticateUser, endUserSessions, loginWaiters, unlockLogin } from '../sessions/index.ts'
import { enqueueTenantSync, membersOf, privateOf } from '../spaces/index.ts'
import { enqueueTaskReturn } from '../tasks/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import type { BaseDeps } from './base-deps.ts'
import { someObjects } from './names-objects.ts'

type Shared = BaseDeps & Readonly<{ owner: string; revocations: Revocations; registry: HttpMetrics['registry'] }>

/** Dependencies of the features that serve tenants and their users. */
export async function tenantDeps(deps: Shared) {
  const { config, db, clock, log, owner, revocations, registry } = deps
  const networks = plainNetworks(config.homeservers.privateNetworks)
  const homeservers = makeHomeservers({ ...deps, networks, ask: makeChatClient().ask, readAsk: makeChatClient(ofReaders).ask })
  const users = {
    ...deps,
    homeservers,
    endUserSessions,
    unlockLogin: unlockLogin,
    resyncSpaces: enqueueTenantSync,
    returnTasks: enqueueTaskReturn,
  }
  const sessions = {
    ...users,
    keys: await openSigningKeys(deps, 'platform'),
    revocations,
    rules: config.sessions,
    waiting: loginWaiters(),
    refusals: {},
  }
  const activeUsers = openActiveUsers(deps)
  const authenticate = authenticateUser(sessions)
  const platform: typeof authenticate = async (authorization, access) => {
    const principal = await authenticate(authorization, access)
    activeUsers.record(principal)
    return principal
  }
  const limits = await openLimits({ ...deps, registry })
  return {
    networks,
    users,
    spaces: users,
    files: {
      ...deps,
      revocations,
      objects: await openObjectStore(config, { log, guard: { someObjects: () => someObjects(db), clock } }),
      quotas: quotasInBytes(config.files),
    },
    sessions,
    platform,
    school: schoolAccess(config.baseUrl),
    activeUsers,
    limits,
    budgets: { db, clock, owner, store: limits.store, budgets: config.limits },
    events: { ...openEvents({ ...deps, registry, revocations, authenticate: platform, membersOf, privateOf }), tenantIdOf },
    edge: openEdge({ ...deps, revocations }),
  }
}

const tenantIdOf: TenantIdOf = async (db, slug) => (await tenantBySlug(db, slug))?.id
