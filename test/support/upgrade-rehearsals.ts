import type { UpgradeRehearsal } from '../../src/core/boxes/index.ts'
import { applyManifest } from '../../src/daemon/boxes/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { aManifest } from './boxes.ts'
import { anOperator } from './boxes-world.ts'
import { digestOf, type RolloutWorld } from './rollout-world.ts'

/** The next major version of PostgreSQL, which the manifest names. */
export const nextPostgres = 'registry.example/postgres:18.1'

/** A good rehearsal of it. */
export const aRehearsal = (change: Partial<UpgradeRehearsal> = {}): UpgradeRehearsal => ({
  ...{ ok: true, way: 'dump-load', image: nextPostgres, digest: digestOf(nextPostgres), from: '17.6', to: '18.1' },
  ...{ databaseBytes: 1, dumpBytes: 1, loadedBytes: 1, tables: 1, rows: 1, times: {}, downtimeMs: 30_000 },
  ...{ findings: [], durationMs: 60_000, error: null },
  ...change,
})

const dayMs = 86_400_000

export async function storeRehearsal(db: Db, { clock }: RolloutWorld, result: UpgradeRehearsal, ageDays = 1): Promise<void> {
  const at = new Date(clock.now().getTime() - ageDays * dayMs).toISOString()
  const row = { command_id: 'cmd_1', at, ok: result.ok ? 1 : 0, result: JSON.stringify(result) }
  await db
    .insertInto('upgrade_rehearsals')
    .values({ box_id: 'box_acme', tenant_id: 'ten_acme', ...row })
    .onConflict((conflict) => conflict.column('box_id').doUpdateSet(row))
    .execute()
}

/** The manifest names the next major version, and the agent of `acme` upgrades. */
export async function wantNextPostgres(db: Db, world: RolloutWorld): Promise<void> {
  world.said.set('acme', { facts: { ...world.reportOf('acme').facts, formerDatabases: [] } as never })
  await db
    .updateTable('boxes')
    .set({ last_report: JSON.stringify(world.reportOf('acme')) })
    .where('slug', '=', 'acme')
    .execute()
  await applyManifest(world.deps, anOperator, aManifest({ postgres: '18.1' }))
}
