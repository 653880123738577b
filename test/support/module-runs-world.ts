import { onTestFinished } from 'vitest'
import { problem } from '../../src/core/kit/index.ts'
import { type ModuleManifest, readModuleManifest } from '../../src/core/modules/index.ts'
import { type Db, headOf } from '../../src/daemon/db/index.ts'
import { recordEvent, streamOf } from '../../src/daemon/events/index.ts'
import { moduleRunsFeature } from '../../src/daemon/modules/index.ts'
import { openModuleRuns } from '../../src/daemon/modules/runs/open-module-runs.ts'
import { watchRunnable } from '../../src/daemon/modules/watch-runnable.ts'
import { compiled } from './compiled-program.ts'
import { aFilesWorld } from './files-world.ts'
import { aSmallApp } from './small-app.ts'

const workerFile = compiled('node/sandbox/worker.js')

type Given = Readonly<{
  code: string
  manifest?: Partial<ModuleManifest>
  permissions?: readonly string[]
  version?: string
  dataVersion?: number
}>

const all = ['spaces:read', 'files:read', 'files:write', 'events:publish', 'events:subscribe'] as const

/** Modules of the tenant `acme` in the real sandbox, installed by rows. */
export async function aModuleRunsWorld(db: Db) {
  const room = await aFilesWorld(db)
  const { tenantId, clock } = room
  const modules = new Map<string, { manifest: ModuleManifest; files: Record<string, string> }>()
  const loads: string[] = []
  const damaged = new Set<string>()
  const opened = openModuleRuns({
    clock,
    threads: 1,
    workerFile,
    loadCode: async ({ moduleId, version }) => {
      if (damaged.has(moduleId)) throw problem('PACKAGE_UNVERIFIED', 'not signed by a trusted key')
      loads.push(`${moduleId} ${version}`)
      return modules.get(`${moduleId} ${version}`) as never
    },
  })
  onTestFinished(async () => {
    await opened.sandbox.close()
    await opened.migrations.close()
  })
  const settingsOf = async () => ({})
  const callService = async () => ({ status: 200, headers: {}, body: 'service' })
  const deps = { ...room, ...opened, owner: 'replica-1', watch: watchRunnable(room), files: room, settingsOf, callService }

  /** Installs and activates a module; a second call with another version updates it. */
  async function install(moduleId: string, { code, manifest = {}, permissions = all, version = '1.0.0', dataVersion = 0 }: Given) {
    const parsed = readModuleManifest(
      JSON.stringify({
        ...{
          id: moduleId,
          name: moduleId,
          version,
          type: 'A',
          svcCoreVersion: '*',
          description: 'x',
          author: { name: 'x', email: 'a@b.de' },
        },
        ...{ license: 'MIT', category: 'other', permissions: all, featureFlag: moduleId, routes: true, dataVersion, ...manifest },
      }),
    )
    modules.set(`${moduleId} ${version}`, { manifest: parsed, files: { 'index.js': code } })
    const at = clock.now().toISOString()
    const row = { tenant_id: tenantId, module_id: moduleId }
    const values = {
      ...({
        version,
        status: 'active',
        paused: 0,
        permissions: JSON.stringify(permissions),
        feature_flag: moduleId,
        settings: '{}',
      } as const),
      ...{ generation: 1, data_generation: 0, data_version: 0, data_bytes: 0, busy_until: null, former: null, former_until: null },
      ...{ remote: null, upstream_host: null, installed_at: at, activated_at: at, data_delete_at: null, updated_at: at },
    }
    await db
      .insertInto('module_installations')
      .values({ ...row, ...values })
      .execute()
    const seq = await headOf(db, streamOf(tenantId))
    const fresh = { attempt: 0, next_at: null, delivery_id: null, failing_since: null, error: null, skipped: 0, skipped_at: null }
    await db
      .insertInto('module_positions')
      .values({ ...row, seq, ...fresh })
      .execute()
    return parsed
  }
  const change = (moduleId: string, values: object) =>
    db
      .updateTable('module_installations')
      .set(values as never)
      .where('module_id', '=', moduleId)
      .execute()
  const happen = (payload: object = { spaceId: 'spc_1' }, type = 'space.created') =>
    db
      .transaction()
      .execute((tx) => recordEvent(tx, clock, { tenantId, type: type as never, payload: payload as never, audience: 'tenant' }))
  const documents = async () => {
    const rows = await db.selectFrom('module_documents').select(['module_id', 'key', 'value']).orderBy('key').execute()
    return Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)]))
  }
  const runs = () => db.selectFrom('module_runs').selectAll().orderBy('created_at').orderBy('attempt').execute()
  const positionOf = (moduleId: string) =>
    db.selectFrom('module_positions').selectAll().where('module_id', '=', moduleId).executeTakeFirstOrThrow()
  const anna = await room.aUser('anna', { inChat: false })
  const app = async (given: typeof deps = deps) => {
    const { url } = await aSmallApp(moduleRunsFeature.routes?.(given) ?? [], { anna }, clock)
    return (path: string, init: RequestInit = {}) =>
      fetch(`${url}/api/platform/v1/module-api/${path}`, { ...init, headers: { authorization: 'Bearer anna', ...init.headers } })
  }
  return {
    /** Modules whose stored package fails verification. */
    damaged,
    ...deps,
    anna,
    install,
    change,
    happen,
    documents,
    runs,
    positionOf,
    app,
    loads,
  }
}
export type ModuleRunsWorld = Awaited<ReturnType<typeof aModuleRunsWorld>>
