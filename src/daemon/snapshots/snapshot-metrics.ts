import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { lastProofs } from './proofs.ts'
import { newestPerTenant } from './snapshots.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; registry: Registry }>

const hourMs = 60 * 60_000
const snapshotLateMs = 26 * hourMs
const proofLateMs = 35 * 24 * hourMs

/** What an operator's alerts look at: how old the data is that a box could be brought back to, and since when nobody has seen it come back. */
export function snapshotMetrics({ db, clock, registry }: Deps): void {
  const gauge = (
    name: string,
    help: string,
    value: (ages: readonly number[]) => number,
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
  const [newest, proven] = [shared(() => newestPerTenant(db)), shared(() => lastProofs(db))]

  gauge('tenantry_snapshot_age_seconds', 'Age of the newest snapshot, of the managed box where it is oldest', oldest, newest)
  gauge('tenantry_proven_restore_age_seconds', 'Time since data last came back, of the managed box where it is longest', oldest, proven)
  gauge('tenantry_boxes_snapshot_late', 'Managed boxes without a snapshot of the last 26 h', laterThan(snapshotLateMs), newest)
  gauge('tenantry_boxes_proof_late', 'Managed boxes whose data did not come back in 35 days', laterThan(proofLateMs), proven)
}

/** One answer for all that ask while it is looked up: the gauges of a scrape. */
function shared<Answer>(look: () => Promise<Answer>): () => Promise<Answer> {
  let looking: Promise<Answer> | undefined
  return () => {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }
}

/** Of each managed live box; one without any counts from its beginning. */
async function agesMs({ db, clock }: Omit<Deps, 'registry'>, newest: ReadonlyMap<string, string>): Promise<number[]> {
  const now = clock.now().getTime()
  const boxes = await db.selectFrom('boxes').select(['tenant_id', 'created_at']).where('live', '=', 1).where('managed', '=', 1).execute()
  return boxes.map(({ tenant_id, created_at }) => Math.max(0, now - Date.parse(newest.get(tenant_id) ?? created_at)))
}
