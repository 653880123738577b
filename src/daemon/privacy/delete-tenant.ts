import { z } from 'zod'
import { type Actor, type Clock, problem, type SystemActor } from '../../core/kit/index.ts'
import type { TenantDeletion } from '../../core/privacy/index.ts'
import { closeAlerts } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, deleteStream, enqueueJob, type JobHandler } from '../db/index.ts'
import {
  deleteTenant as deleteTenantRow,
  existingTenant,
  lockTenant,
  startTenantDeletion,
  type TenantRecord,
  tenantById,
} from '../tenants/index.ts'
import { countContents, deleteRowsOf } from './tenant-rows.ts'

type OfTenant = Readonly<{ id: TenantRecord['id']; slug: string }>

export type DeletionDeps = Readonly<{
  db: Db
  clock: Clock
  /** Name the steps that are missing before a tenant may be deleted, in this order. */
  blockers: readonly ((db: Db, tenant: OfTenant) => Promise<readonly string[]>)[]
  /** Where data remains that the platform cannot delete. */
  remains: (db: Db, tenant: OfTenant) => Promise<readonly string[]>
  /** Delete data outside the database, such as bytes of files. Each can be repeated. */
  deleteSteps: readonly ((tenant: OfTenant, signal?: AbortSignal) => Promise<void>)[]
  /** Discards the jobs that wait for the chat server of the tenant. */
  discardJobs: (tx: Parameters<typeof recordAudit>[0], tenantId: string) => Promise<void>
}>

const topic = 'privacy.delete-tenant'
const Payload = z.object({ tenantId: z.string() })

/** Throws NOT_FOUND, also once the tenant is deleted. */
export async function showTenantDeletion(deps: DeletionDeps, slug: string): Promise<TenantDeletion> {
  const tenant = await existingTenant(deps.db, slug)
  const { id, name, status, suspendedReason } = tenant
  const isDeleting = status === 'deleting'
  const suspend = status === 'active' ? [`Tenant ${slug} is active. fix: tenantry tenants suspend ${slug} --reason <why>`] : []
  const others = await Promise.all(deps.blockers.map((blocker) => blocker(deps.db, tenant)))
  return {
    ...{ slug, name, state: isDeleting ? 'deleting' : 'none', reason: isDeleting ? suspendedReason : null },
    contents: await countContents(deps.db, id),
    blockers: isDeleting ? [] : [...suspend, ...others.flat()],
    remains: [...(await deps.remains(deps.db, tenant))],
  }
}

type Input = Readonly<{ slug: string; confirm: string; reason: string }>

/**
 * Deletes a tenant for good. From now on it cannot be used, changed or resumed; a job deletes files, snapshots and rows. A repeat runs the job again.
 * Throws NOT_FOUND, VALIDATION, CONFLICT with the first step that is missing.
 */
export async function deleteTenant(deps: DeletionDeps, actor: Actor, { slug, confirm, reason }: Input): Promise<TenantDeletion> {
  const path = 'confirm'
  if (confirm !== slug)
    throw problem('VALIDATION', `confirmation does not match: expected ${slug}`, { details: [{ path, reason: `must be ${slug}` }] })
  const deletion = await showTenantDeletion(deps, slug)
  const [first] = deletion.blockers
  if (first !== undefined) throw problem('CONFLICT', first)
  await deps.db.transaction().execute(async (tx) => {
    await lockTenant(tx, slug)
    const { id: tenantId, status } = await existingTenant(tx, slug)
    if (status === 'active') throw problem('CONFLICT', `Tenant ${slug} was resumed meanwhile. fix: suspend it, then retry`)
    if (status === 'suspended') {
      await startTenantDeletion(tx, deps.clock, { id: tenantId, reason })
      const { contents, remains } = deletion
      await recordAudit(tx, deps.clock, { actor, action: 'tenant.deleting', subject: slug, data: { tenantId, reason, contents, remains } })
    }
    await enqueueJob(tx, deps.clock, { topic, payload: { tenantId }, key: tenantId })
  })
  return { ...deletion, state: 'deleting', reason: deletion.reason ?? reason }
}

const system: SystemActor = { kind: 'system', name: 'privacy' }

/** Killed at any point it continues: what is deleted is not found again, and the row of the tenant goes last. */
export const deletionJobs = (deps: DeletionDeps): Readonly<Record<string, JobHandler>> => ({
  [topic]: async (payload, { signal }) => {
    const tenant = await tenantById(deps.db, Payload.parse(payload).tenantId)
    if (tenant?.status !== 'deleting') return
    for (const step of deps.deleteSteps) await step(tenant, signal)
    await deleteRowsOf(deps.db, tenant.id, signal)
    await finishDeletion(deps, tenant)
  },
})

/** Also deletes rows that other work of the tenant wrote meanwhile. */
const finishDeletion = ({ db, clock, discardJobs }: DeletionDeps, { id, slug, suspendedReason }: TenantRecord): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await lockTenant(tx, slug)
    await deleteRowsOf(tx, id)
    await discardJobs(tx, id)
    await deleteStream(tx, `tenant:${id}`)
    await deleteTenantRow({ clock }, tx, id)
    await closeAlerts(tx, clock, { subject: slug, because: 'the tenant was deleted' })
    await recordAudit(tx, clock, {
      actor: system,
      action: 'tenant.deleted',
      subject: slug,
      data: { tenantId: id, reason: suspendedReason },
    })
  })
