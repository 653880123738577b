import { api } from '../../core/api.ts'
import { openApiDocument } from '../../core/contract/index.ts'
import { packageVersion } from '../../node/index.ts'
import { adminRoutes } from '../admin/index.ts'
import { alertsRoutes } from '../alerts/index.ts'
import { auditRoutes } from '../audit/index.ts'
import { authRoutes } from '../auth/index.ts'
import { bootstrapRoutes, noModules } from '../bootstrap/index.ts'
import { boxesRoutes } from '../boxes/index.ts'
import { contactsRoutes } from '../contacts/index.ts'
import { cronsRoutes } from '../crons/index.ts'
import { eventsRoutes } from '../events/index.ts'
import { filesRoutes, fileUseOf } from '../files/index.ts'
import { homeserverRoutes } from '../homeserver/index.ts'
import { agentRoutes, hostsRoutes } from '../hosts/index.ts'
import type { HttpMetrics, Served } from '../http/index.ts'
import { jobsRoutes } from '../jobs/index.ts'
import { limitsRoutes } from '../limits/index.ts'
import { profileRoutes } from '../profile/index.ts'
import { rolloutsRoutes } from '../rollouts/index.ts'
import { serviceRoutes } from '../service/index.ts'
import { sessionsRoutes } from '../sessions/index.ts'
import { snapshotsRoutes } from '../snapshots/index.ts'
import { spacesOf, spacesRoutes } from '../spaces/index.ts'
import { tasksRoutes } from '../tasks/index.ts'
import { tenantsRoutes } from '../tenants/index.ts'
import { usersRoutes } from '../users/index.ts'
import type { Rooms } from './rooms.ts'
import type { FeatureDeps } from './wire-needs.ts'

/** Everything that is served. The router tries one after the other: what every app asks for first, and again and again, stands first. */
export function routesOf(deps: FeatureDeps, { registry }: HttpMetrics, rooms: Rooms): readonly Served[] {
  const { db, clock, draining } = deps
  const version = packageVersion()
  const document = openApiDocument(api, { title: 'Tenantry', version })
  return [
    ...bootstrapRoutes({ ...deps, spacesOf, modulesOf: noModules }),
    ...serviceRoutes({ db, clock, registry, version, draining, openApi: () => document }),
    ...authRoutes(deps),
    ...adminRoutes(rooms.admin),
    ...auditRoutes(rooms.audit),
    ...alertsRoutes(rooms.alerts),
    ...jobsRoutes(deps),
    ...hostsRoutes(rooms.hosts),
    ...agentRoutes(rooms.hosts),
    ...tenantsRoutes({ ...rooms.boxes, fileUseOf: fileUseOf(rooms.files.quotas) }),
    ...usersRoutes(rooms.users),
    ...homeserverRoutes({ db, clock, networks: rooms.networks }),
    ...sessionsRoutes(rooms.sessions),
    ...boxesRoutes(rooms.boxes),
    ...snapshotsRoutes(rooms.snapshots),
    ...rolloutsRoutes(rooms.rollouts),
    ...cronsRoutes(rooms.crons),
    ...eventsRoutes(rooms.events),
    ...profileRoutes(deps),
    ...contactsRoutes(deps),
    ...tasksRoutes({ ...deps, spacesOf }),
    ...spacesRoutes(rooms.spaces),
    ...filesRoutes(rooms.files),
    ...limitsRoutes(rooms.budgets),
  ]
}
