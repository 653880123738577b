import { Gauge, type Registry } from 'prom-client'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { lastProofs } from './proofs.ts'
import { newestPerTenant } from './snapshots.repo.ts'
import { archiveBehindSeconds } from './watch-archives.ts'

type Deps = Readonly<{ db: Db; clock: Clock; archive: SnapshotsDeps['archive']; registry: Registry }>

const hourMs = 60 * 60_000
const snapshotLateMs = 26 * hourMs
const proofLateMs = 35 * 24 * hourMs

/** Gauges for the age of the newest snapshots and of the last verified restores. */
export function snapshotMetrics({ db, clock, archive, registry }: Deps): void {
  const gauge = (
    { name, help, value }: Readonly<{ name: string; help: string; value: (ages: readonly number[]) => number }>,
    which: () => Promise<ReadonlyMap<string, string>>,
  ) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(value(await agesMs({ db, clock }, await which())))
      },
    })
  const oldest = (ages: readonly number[]) => Math.max(0, ...ages) / 1000
  const laterThan = (ms: number) => (ages: readonly number[]) => ages.filter((age) => age > ms).length
  const [newest, proven] = [shared(() => newestPerTenant(db, isoNow(clock))), shared(() => lastProofs(db, isoNow(clock)))]

  new Gauge({
    name: 'tenantry_archive_behind_seconds',
    help: 'Time since which the store lacks data of the box whose archive is furthest behind; 0 without archives',
    registers: [registry],
    async collect() {
      this.set(await archiveBehindSeconds({ db, clock, archive }))
    },
  })
  gauge(
    { name: 'tenantry_snapshot_age_seconds', help: 'Age of the newest snapshot of the managed box with the oldest one', value: oldest },
    newest,
  )
  gauge(
    {
      name: 'tenantry_proven_restore_age_seconds',
      help: 'Time since the last verified restore of the managed box with the oldest one',
      value: oldest,
    },
    proven,
  )
  gauge(
    { name: 'tenantry_boxes_snapshot_late', help: 'Managed boxes without a snapshot in the last 26 h', value: laterThan(snapshotLateMs) },
    newest,
  )
  gauge(
    {
      name: 'tenantry_boxes_proof_late',
      help: 'Managed boxes without a verified restore in the last 35 days',
      value: laterThan(proofLateMs),
    },
    proven,
  )
}

/** Shares one query between the gauges of a scrape. */
function shared<Answer>(read: () => Promise<Answer>): () => Promise<Answer> {
  let pending: Promise<Answer> | undefined
  return () => {
    pending ??= read().finally(() => {
      pending = undefined
    })
    return pending
  }
}

/** The age for each managed live box, counted from its creation where it has none. */
async function agesMs({ db, clock }: Pick<Deps, 'db' | 'clock'>, newest: ReadonlyMap<string, string>): Promise<number[]> {
  const now = clock.now().getTime()
  const boxes = await db.selectFrom('boxes').select(['tenant_id', 'created_at']).where('live', '=', 1).where('managed', '=', 1).execute()
  return boxes.map(({ tenant_id, created_at }) => Math.max(0, now - Date.parse(newest.get(tenant_id) ?? created_at)))
}
