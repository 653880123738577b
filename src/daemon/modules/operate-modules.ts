import { isoIn, problem } from '../../core/kit/index.ts'
import {
  healthOf,
  healthStepMs,
  healthWindowMs,
  type ModuleHealth,
  type ModuleHealthDetail,
  type OperatedModule,
  priceOf,
  runsIn,
} from '../../core/modules/index.ts'
import { moduleEntriesOf } from '../audit/index.ts'
import { tenantById, tenantBySlug } from '../tenants/index.ts'
import type { ModulesDeps } from './deps.ts'
import { approvedModules, newestVersions } from './store/approved-modules.ts'

type Deps = Pick<ModulesDeps, 'db' | 'clock'>

/** All approved modules with their installations and withdrawn versions, by id. */
export async function listModules({ db }: Deps): Promise<{ modules: OperatedModule[] }> {
  const counts = await installationCounts({ db })
  const rows = await db.selectFrom('module_withdrawals').selectAll().orderBy('withdrawn_at').orderBy('version').execute()
  const listed = new Set((await approvedModules(db)).map(({ moduleId }) => moduleId))
  const modules = (await newestVersions(db)).map(({ moduleId, version, manifest }) => {
    const { name, type, featureFlag } = manifest
    const withdrawn = rows
      .filter((row) => row.module_id === moduleId)
      .map((row) => ({ version: row.version, reason: row.reason, at: row.withdrawn_at }))
    const status = listed.has(moduleId) ? ('active' as const) : ('withdrawn' as const)
    const { installations = 0, activeInstallations = 0 } = counts.get(moduleId) ?? {}
    return { moduleId, name, version, type, featureFlag, price: priceOf(manifest), status, installations, activeInstallations, withdrawn }
  })
  return { modules }
}

async function installationCounts({ db }: Pick<Deps, 'db'>) {
  const rows = await db
    .selectFrom('module_installations')
    .select(({ fn }) => ['module_id', 'status', fn.countAll().as('count')])
    .where('status', '!=', 'deleted')
    .groupBy(['module_id', 'status'])
    .execute()
  const counts = new Map<string, { installations: number; activeInstallations: number }>()
  for (const { module_id: id, status, count } of rows) {
    const { installations, activeInstallations } = counts.get(id) ?? { installations: 0, activeInstallations: 0 }
    const active = status === 'active' ? Number(count) : 0
    counts.set(id, { installations: installations + Number(count), activeInstallations: activeInstallations + active })
  }
  return counts
}

/** Health of the modules with an active installation, by id (spec 2.7). */
export async function listModuleHealth(deps: Deps): Promise<{ modules: ModuleHealth[] }> {
  const all = await allHealth(deps)
  return { modules: all.filter(({ activeInstallations }) => activeInstallations > 0) }
}

/** Throws NOT_FOUND for a module that was never approved. */
export async function showModuleHealth(deps: Deps, { moduleId }: Readonly<{ moduleId: string }>): Promise<ModuleHealthDetail> {
  const found = (await allHealth(deps)).find((one) => one.moduleId === moduleId)
  if (!found) throw problem('NOT_FOUND', `There is no approved module ${moduleId}. fix: tenantry modules list`)
  return { ...found, history: await healthHistory(deps, moduleId) }
}

/** The health in each step of the window, also in those without a run. */
async function healthHistory({ db, clock }: Deps, moduleId: string): Promise<ModuleHealthDetail['history']> {
  const rows = await db
    .selectFrom('module_counters')
    .select(({ fn }) => ['minute', 'bucket', fn.sum<number | string>('count').as('count')])
    .where('module_id', '=', moduleId)
    .where('minute', '>=', isoIn(clock, -healthWindowMs))
    .groupBy(['minute', 'bucket'])
    .execute()
  return Array.from({ length: healthWindowMs / healthStepMs }, (_, step) => {
    const from = isoIn(clock, step * healthStepMs - healthWindowMs)
    const until = isoIn(clock, (step + 1) * healthStepMs - healthWindowMs)
    const counts = new Map<string, number>()
    for (const { minute, bucket, count } of rows)
      if (minute >= from && minute < until) counts.set(bucket, (counts.get(bucket) ?? 0) + Number(count))
    const { p95Ms, p99Ms, errorRate } = healthOf(counts)
    return { from, runs: runsIn(counts), p95Ms, p99Ms, errorRate }
  })
}

async function allHealth({ db, clock }: Deps): Promise<ModuleHealth[]> {
  const rows = await db
    .selectFrom('module_counters')
    .select(({ fn }) => ['module_id', 'bucket', fn.sum<number | string>('count').as('count')])
    .where('minute', '>=', isoIn(clock, -healthWindowMs))
    .groupBy(['module_id', 'bucket'])
    .execute()
  const counts = await installationCounts({ db })
  return (await newestVersions(db)).map(({ moduleId, version, manifest: { name } }) => {
    const own = new Map(rows.filter((row) => row.module_id === moduleId).map(({ bucket, count }) => [bucket, Number(count)]))
    const { violations, ...rest } = healthOf(own)
    const { activeInstallations = 0 } = counts.get(moduleId) ?? {}
    return { moduleId, name, version, activeInstallations, performance: { ...rest, violations: [...violations] } }
  })
}

type AuditQuery = Readonly<{ tenantId: string; moduleId?: string | undefined; limit: number }>

/** Audit entries about the modules of a tenant, newest first. Throws NOT_FOUND. */
export async function listModuleAudit({ db }: Pick<Deps, 'db'>, { tenantId, moduleId, limit }: AuditQuery) {
  const tenant = (await tenantById(db, tenantId)) ?? (await tenantBySlug(db, tenantId))
  if (!tenant) throw problem('NOT_FOUND', `There is no tenant ${tenantId}. fix: tenantry tenants list`)
  const found = await moduleEntriesOf(db, { subject: tenant.slug, tenantId: tenant.id, moduleId, limit })
  const entries = found.map(({ at, actor, action, data }) => {
    const { moduleId: id, version, tenantId: _, ...rest } = data as Readonly<{ moduleId: string; version?: string; tenantId: string }>
    return { at, actor, action, moduleId: id, version: version ?? null, data: rest }
  })
  return { entries }
}
