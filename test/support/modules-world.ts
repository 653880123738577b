import { bootstrapContract } from '../../src/core/bootstrap/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { isoNow, manualClock, type PlatformPrincipal, problem } from '../../src/core/kit/index.ts'
import { ModuleManifest, modulesContract, operatorModulesContract } from '../../src/core/modules/index.ts'
import { bootstrapRoutes } from '../../src/daemon/bootstrap/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { type ModulesDeps, modulesFeature, modulesOfTenant, recordMonthlyUsage } from '../../src/daemon/modules/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'
import { aKeyring } from './admin-world.ts'
import { anOperator } from './boxes-world.ts'
import { servedApp } from './served-app.ts'
import { aTasksWorld, principalOf } from './tasks-world.ts'

/** A valid manifest of a type A module, changed. */
export const aManifest = (changed: object = {}): ModuleManifest =>
  ModuleManifest.parse({
    ...{ id: 'attendance', name: 'Attendance', version: '1.0.0', type: 'A', svcCoreVersion: '>=1.0.0', description: 'Counts' },
    ...{ author: { name: 'Ann', email: 'ann@example.org' }, license: 'MIT', category: 'organization', featureFlag: 'attendance' },
    ...{ permissions: ['spaces:read', 'events:subscribe'], events: { subscribes: ['space.created'] } },
    ...changed,
  })

/** An approved version, without package and signature: nothing here loads it. The developer belongs to the tenant. */
export async function approve(db: Db, manifest: ModuleManifest, tenantId: string): Promise<void> {
  const { id, version, featureFlag, name, category } = manifest
  const at = isoNow(manualClock())
  const [developer_id, key] = [`dev_${tenantId}`, `${id}_${version}`]
  const account = { email: 'ann@example.org', name: 'Ann', organization: 'Acme', verified: 0, user_id: null }
  await db
    .insertInto('store_developers')
    .values({ id: developer_id, tenant_id: tenantId, ...account, created_at: at })
    .onConflict((c) => c.doNothing())
    .execute()
  await db
    .insertInto('store_artifacts')
    .values({ id: `art_${key}`, developer_id, state: 'stored', bytes: 1, sha256: 'x', created_at: at })
    .execute()
  const newest = { feature_flag: featureFlag, version, submission_id: `sub_${key}`, approved_at: at }
  await db
    .insertInto('store_modules')
    .values({ id, developer_id, ...newest })
    .onConflict((c) => c.column('id').doUpdateSet(newest))
    .execute()
  const before = await db.selectFrom('store_versions').select('version').where('module_id', '=', id).execute()
  await db
    .insertInto('store_versions')
    .values({
      ...{ module_id: id, version, ordinal: before.length + 1, developer_id, submission_id: `sub_${key}`, artifact_id: `art_${key}` },
      ...{ checksum: 'x', manifest: JSON.stringify(manifest), category, search: `${id}\n${name}`.toLowerCase(), approved_at: at },
      ...{ key_id: 'none', signature: 'none' },
    })
    .execute()
}

type Changed = Readonly<{ isFirst?: boolean; clock?: ReturnType<typeof manualClock>; deps?: Partial<ModulesDeps> }>

/** Modules of the tenants `one` and `two` over HTTP: `mia` and `olga` have manageModules, `anna` does not. A second call is a second replica. */
export async function aModulesWorld(db: Db, { isFirst = true, clock = manualClock(), deps: changed = {} }: Changed = {}) {
  const tasks = await aTasksWorld(db, { isFirst, clock })
  const deps: ModulesDeps = {
    ...{ db, clock, random: systemRandom, log: silentLogger(), keyring: aKeyring() },
    prepare: async ({ installation: { dataGeneration, dataBytes }, manifest }) => ({
      ...{ dataGeneration, dataBytes, dataVersion: manifest.dataVersion },
    }),
    changed: async () => undefined,
    ...changed,
  }
  const authenticate = {
    platform: async (authorization: string | undefined) => userOf(db, authorization?.slice('Bearer '.length) ?? ''),
    admin: async () => anOperator,
  }
  const bootstrap = bootstrapRoutes({ ...tasks, modulesOf: modulesOfTenant })
  const { url } = await servedApp([...(modulesFeature.routes?.(deps) ?? []), ...bootstrap], { authenticate, clock })
  const as = (who: string) =>
    makeClient(
      { ...modulesContract, ...bootstrapContract },
      { baseUrl: url, headers: () => ({ authorization: `Bearer ${who}`, connection: 'close' }) },
    )
  const operator = makeClient(operatorModulesContract, { baseUrl: url, headers: () => ({ connection: 'close' }) })
  const jobs = modulesFeature.jobs?.(deps) ?? {}
  const crons = new Map((modulesFeature.crons?.(deps) ?? []).map((cron) => [cron.key, cron]))
  const cron = (key: string) => crons.get(key)?.run({ signal: new AbortController().signal })
  const recordUsage = () => recordMonthlyUsage(deps)

  /** Runs every queued job that is due, in order, as the queue does. */
  async function runJobs(): Promise<string[]> {
    const due = await db.selectFrom('jobs').selectAll().where('status', '=', 'pending').orderBy('id').execute()
    const own = due.filter((job) => jobs[job.topic] && job.next_at <= isoNow(clock))
    for (const { id, topic, payload } of own) {
      await jobs[topic]?.(JSON.parse(payload), { last: false })
      await db.deleteFrom('jobs').where('id', '=', id).execute()
    }
    return own.map(({ topic }) => topic)
  }
  const events = async (tenantId = 'ten_one') => {
    const rows = await db.selectFrom('events').select(['event_type', 'payload']).where('tenant_id', '=', tenantId).orderBy('seq').execute()
    return rows
      .filter((row) => row.event_type.startsWith('module.'))
      .map((row) => ({ type: row.event_type, payload: JSON.parse(row.payload) }))
  }
  const audited = async () => {
    const rows = await db.selectFrom('audit').select(['action', 'subject']).orderBy('seq').execute()
    return rows.map(({ action, subject }) => `${action} ${subject}`)
  }
  const row = (moduleId = 'attendance', tenantId = 'ten_one') =>
    db
      .selectFrom('module_installations')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('module_id', '=', moduleId)
      .executeTakeFirstOrThrow()
  const addDocuments = async (moduleId: string, generation: number, keys: readonly string[], tenantId = 'ten_one') => {
    const values = keys.map((key) => ({ tenant_id: tenantId, module_id: moduleId, generation, key, value: '{}', version: 1, bytes: 2 }))
    await db.insertInto('module_documents').values(values).execute()
  }
  const documents = async () =>
    (await db.selectFrom('module_documents').selectAll().orderBy('tenant_id').orderBy('module_id').orderBy('key').execute()).map(
      (one) => `${one.tenant_id} ${one.module_id} ${one.generation} ${one.key}`,
    )
  return { ...deps, clock, deps, url, as, operator, runJobs, cron, recordUsage, events, audited, row, addDocuments, documents }
}

async function userOf(db: Db, id: string): Promise<PlatformPrincipal> {
  const user = await principalOf(db, id).catch(() => undefined)
  if (!user) throw problem('UNAUTHENTICATED', 'unknown')
  return { ...user, capabilities: ['mia', 'olga'].includes(id) ? ['manageModules'] : [] }
}
