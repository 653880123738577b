import { z } from 'zod'
import { firstOf, type NewAlert } from '../../core/alerts/index.ts'
import { type Actor, isoNow, plural, problem } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueJob, type JobHandler, lockExclusive, type Tx, type WithTx } from '../db/index.ts'
import { recordForTenants } from '../events/index.ts'
import { chargedApps, tenantsCharged } from './charged-apps.ts'
import type { ModulesDeps } from './deps.ts'
import { approvedVersionsOf } from './store/approved-modules.ts'

type Deps = Pick<ModulesDeps, 'db' | 'clock'>
type Withdrawal = Readonly<{ id: string; reason: string; version?: string | undefined }>

/** Tells the tenants whose active modules a withdrawal or a restore concerns. */
export const announceTopic = 'modules.announce'

/**
 * Withdraws a version, or all approved ones: from the commit on no run of them starts, and none that began before commits. Repeated calls change
 * nothing. Throws NOT_FOUND.
 */
export const withdrawModule = (deps: Deps, actor: Actor, { id: moduleId, reason, version }: Withdrawal) =>
  deps.db.transaction().execute(async (tx) => {
    const all = await versionsOf(tx, { moduleId, version })
    const versions = all.filter(({ withdrawn }) => withdrawn === null).map((one) => one.version)
    const chargedCount = (await chargedApps(tx, { moduleId })).length
    if (versions.length === 0) return { moduleId, versions, chargedApps: chargedCount }
    const withdrawn_at = isoNow(deps.clock)
    const rows = versions.map((one) => ({ module_id: moduleId, version: one, reason, withdrawn_at }))
    await tx.insertInto('module_withdrawals').values(rows).execute()
    const tenants = await tenantsCharged(tx, { moduleId })
    if (tenants.length > 0) await raiseAlert(tx, deps.clock, withdrawnAlert(moduleId, tenants))
    await publish({ ...deps, tx }, actor, { moduleId, versions, type: 'module.withdrawn', reason })
    return { moduleId, versions, chargedApps: chargedCount }
  })

/** Restores a withdrawn version, or all. Repeated calls change nothing. Throws NOT_FOUND. */
export const restoreModule = (deps: Deps, actor: Actor, { id: moduleId, version }: Omit<Withdrawal, 'reason'>) =>
  deps.db.transaction().execute(async (tx) => {
    const all = await versionsOf(tx, { moduleId, version })
    const versions = all.filter(({ withdrawn }) => withdrawn !== null).map((one) => one.version)
    if (versions.length === 0) return { moduleId, versions }
    await tx.deleteFrom('module_withdrawals').where('module_id', '=', moduleId).where('version', 'in', versions).execute()
    if ((await tenantsCharged(tx, { moduleId })).length === 0)
      await closeAlerts(tx, deps.clock, { subject: moduleId, kinds: ['paid_module_withdrawn'], because: 'the module was restored' })
    await publish({ ...deps, tx }, actor, { moduleId, versions, type: 'module.restored' })
    return { moduleId, versions }
  })

/** After an acknowledgement the next withdrawal raises it again. */
const withdrawnAlert = (moduleId: string, tenants: readonly string[]): NewAlert => ({
  kind: 'paid_module_withdrawn',
  subject: moduleId,
  title: `${plural(tenants.length, 'tenant pays', 'tenants pay')} for an app of a withdrawn module`,
  body:
    `The module ${moduleId} is withdrawn, and paid apps with it charge on: ${firstOf(tenants)}.\n` +
    'Cancel their subscriptions in the Dashboard of the provider, which uninstalls the apps, and refund what is due. ' +
    'The alert closes when the module is restored. Otherwise acknowledge it once the subscriptions have ended.',
  command: `tenantry modules show ${moduleId}`,
})

async function versionsOf(tx: Tx, { moduleId, version }: Readonly<{ moduleId: string; version: string | undefined }>) {
  await lockExclusive(tx, `module-withdrawals ${moduleId}`)
  const all = (await approvedVersionsOf(tx, moduleId)).filter((one) => version === undefined || one.version === version)
  if (all.length > 0) return all
  throw problem('NOT_FOUND', `There is no approved module ${[moduleId, version].filter(Boolean).join(' ')}. fix: tenantry modules list`)
}

type Published = Readonly<{
  moduleId: string
  versions: readonly string[]
  type: 'module.withdrawn' | 'module.restored'
  reason?: string
}>

/** The raised generation refuses the commits of runs that have begun, on every replica. */
async function publish({ clock, tx }: WithTx<Deps>, actor: Actor, { moduleId, versions, type, reason }: Published): Promise<void> {
  await tx
    .updateTable('module_installations')
    .set(({ eb }) => ({ generation: eb('generation', '+', 1), busy_until: null }))
    .where('module_id', '=', moduleId)
    .where('status', '!=', 'deleted')
    .where('version', 'in', [...versions])
    .execute()
  await enqueueJob(tx, clock, { topic: announceTopic, payload: { moduleId, versions, type }, key: moduleId })
  await recordAudit(tx, clock, { actor, action: type, subject: moduleId, data: { moduleId, versions, ...(reason ? { reason } : {}) } })
}

const Announced = z.object({ moduleId: z.string(), versions: z.array(z.string()), type: z.enum(['module.withdrawn', 'module.restored']) })

/** One event for each tenant with an active module of these versions. */
export const announce =
  (deps: Pick<ModulesDeps, 'db' | 'clock'>): JobHandler =>
  async (payload, { signal }) => {
    const { moduleId, versions, type } = Announced.parse(payload)
    const eventsAfter = async (after: string, limit: number) => {
      const rows = await deps.db
        .selectFrom('module_installations')
        .select(['tenant_id', 'version'])
        .where('module_id', '=', moduleId)
        .where('status', '=', 'active')
        .where('version', 'in', versions)
        .where('tenant_id', '>', after)
        .orderBy('tenant_id')
        .limit(limit)
        .execute()
      return rows.map(({ tenant_id: tenantId, version }) => ({
        tenantId,
        type,
        payload: { moduleId, version },
        audience: 'tenant' as const,
      }))
    }
    await recordForTenants(deps, eventsAfter, signal)
  }
