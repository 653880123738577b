// Maintenance of boxes, as their organisations are notified of it: an event, mails to administrators, the list of the school page, the bootstrap document.
// It follows what rollouts have stored, and starts, moves or stops none. Each box of a rollout is announced once.
import './maintenance.tables.ts'
import { sql } from 'kysely'
import { isoIn, plural } from '../../core/kit/index.ts'
import { maintenanceContract } from '../../core/maintenance/index.ts'
import { deleteInBatches } from '../db/index.ts'
import { feature, type LeasedLoop } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { existingTenant } from '../tenants/index.ts'
import { announceUpdates } from './announce.ts'
import type { MaintenanceDeps } from './deps.ts'
import { updateNotices } from './follow-up.ts'
import { mailAdministrator, maintenanceMailTopic } from './mail-administrators.ts'
import { noticesOfTenant, noticeView } from './notices.repo.ts'

export type { MaintenanceDeps } from './deps.ts'
export { nextMaintenance } from './notices.repo.ts'

export const maintenanceRoutes = ({ db, windows }: Pick<MaintenanceDeps, 'db' | 'windows'>) =>
  serveContract(maintenanceContract, {
    listMaintenance: async ({ actor }) => ({
      timeZone: (await existingTenant(db, actor.tenantSlug)).timeZone ?? windows.timeZone,
      maintenance: (await noticesOfTenant(db, actor.tenantId)).map(noticeView),
    }),
  })

/** A rollout that begins is announced within this time. */
const everyMs = 10_000

export const maintenanceLoop = (deps: MaintenanceDeps): LeasedLoop => ({
  name: 'announce maintenance',
  everyMs,
  lease: { name: 'maintenance.announce', ttlMs: 60_000 },
  run: async ({ signal }) => {
    await announceUpdates(deps, signal)
    await updateNotices(deps, signal)
  },
})

/** An ended notice is history after a year. */
const keptMs = 365 * 86_400_000

const deleteOldNotices = async ({ db, clock }: MaintenanceDeps, signal: AbortSignal): Promise<string> => {
  const where = sql`ended_at < ${isoIn(clock, -keptMs)}`
  return plural(await deleteInBatches(db, { table: 'maintenance_notices', where, signal }), 'old maintenance notice')
}

export const maintenanceFeature = feature<MaintenanceDeps>({
  name: 'maintenance',
  routes: maintenanceRoutes,
  loops: (deps) => [maintenanceLoop(deps)],
  jobs: (deps) => ({ [maintenanceMailTopic]: mailAdministrator(deps) }),
  cleanup: (deps) => [(signal) => deleteOldNotices(deps, signal)],
})
