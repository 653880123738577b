import { newId } from '../../core/kit/index.ts'
import { authenticateAdmin } from '../admin/index.ts'
import { alertMetrics } from '../alerts/index.ts'
import type { EdgeSide } from '../edge/index.ts'
import { authenticateAgent } from '../hosts/index.ts'
import { type Authenticators, type HttpMetrics, makeMetrics, type Served } from '../http/index.ts'
import { jobsMetrics } from '../jobs/index.ts'
import type { Limits } from '../limits/index.ts'
import { fleetMetrics } from '../service/index.ts'
import { snapshotMetrics } from '../snapshots/index.ts'
import { fleetRooms } from './fleet-rooms.ts'
import { cronsRoom } from './jobs.ts'
import { beginLoops } from './loops.ts'
import { adminRoom, alertsRoom, auditRoom } from './own-rooms.ts'
import { routesOf } from './routes.ts'
import { tenantRooms } from './tenant-rooms.ts'
import type { FeatureDeps } from './wire-needs.ts'

export type Wired = Readonly<{
  served: readonly Served[]
  authenticate: Required<Authenticators>
  metrics: HttpMetrics
  limits: Limits
  outermost: EdgeSide['outermost']
  /** Starts the loops; each promise resolves once its loop has handed its work back. */
  begin(): readonly Promise<void>[]
}>

/** Joins all rooms; nothing goes on before `begin`. */
export async function wire(deps: FeatureDeps): Promise<Wired> {
  const holder = newId(deps.random, 'replica')
  const metrics = measured(deps)
  const admin = await adminRoom(deps)
  const tenants = await tenantRooms(deps, { holder, revocations: admin.revocations, registry: metrics.registry })
  const some = { ...fleetRooms(deps, holder), ...tenants, admin, alerts: alertsRoom(deps), audit: auditRoom(deps) }
  const rooms = { ...some, crons: cronsRoom(deps, holder, some) }
  return {
    served: routesOf(deps, metrics, rooms),
    authenticate: { admin: authenticateAdmin(admin), agent: authenticateAgent(rooms.hosts), platform: tenants.platform },
    metrics,
    limits: tenants.limits,
    outermost: tenants.edge.outermost,
    begin: () => beginLoops(deps, holder, rooms),
  }
}

function measured({ config, db, clock }: FeatureDeps): HttpMetrics {
  const metrics = makeMetrics()
  const { registry } = metrics
  fleetMetrics({ db, clock, registry, offlineAfterMs: config.agents.offlineAfterMs })
  snapshotMetrics({ db, clock, registry })
  alertMetrics({ db, registry })
  jobsMetrics({ db, clock, registry })
  return metrics
}
