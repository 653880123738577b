import { isoNow } from '../../core/kit/index.ts'
import { evaluateRetention, type RetentionRule, type RetentionVerdict } from '../../core/snapshots/index.ts'
import type { Config } from '../config/index.ts'

import type { DbOrTx } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { newestProofs, type ProofOf } from './proofs.ts'
import { type SnapshotRow, snapshotsOf } from './snapshots.repo.ts'

/** How long snapshots are kept, as the settings say. */
export function retentionRule({ snapshots }: Pick<Config, 'snapshots'>): RetentionRule {
  const { keepDaily: daily, keepWeekly: weekly, keepMonthly: monthly, preUpdateDays, preRestoreDays, manualDays, finalDays } = snapshots
  return { daily, weekly, monthly, preUpdateDays, preRestoreDays, manualDays, finalDays }
}

type Deps = Pick<SnapshotsDeps, 'clock' | 'rule' | 'references'>

/** By tenant, and what each snapshot was last proven by, which the word depends on. */
type Judged = Readonly<{ verdicts: ReadonlyMap<string, RetentionVerdict>; proofOf: ProofOf }>

/** Retention's word on the repositories of these tenants, with all that any room still refers to. */
export async function evaluateSnapshots(deps: Deps, db: DbOrTx, tenantIds: readonly string[]): Promise<Judged> {
  const rows = await snapshotsOf(db, tenantIds)
  const inUse = await inUseOf(deps, db, rows)
  const proofOf = await newestProofs(db, tenantIds)
  const verdicts = new Map(
    tenantIds.map((tenantId) => {
      const own = rows.filter((row) => row.tenant_id === tenantId)
      const snapshots = own.map(({ snapshot_id: snapshotId, tier, taken_at: takenAt, status, ...row }) => ({
        snapshotId,
        tier,
        takenAt,
        status,
        provenAt: proofOf(tenantId, snapshotId)?.at ?? null,
        reported: row.sha256 !== null,
      }))
      return [tenantId, evaluateRetention({ snapshots, rule: deps.rule, now: isoNow(deps.clock), inUse })]
    }),
  )
  return { verdicts, proofOf }
}

async function inUseOf({ references }: Deps, db: DbOrTx, rows: readonly SnapshotRow[]): Promise<ReadonlyMap<string, string>> {
  const boxIds = [...new Set(rows.map(({ box_id }) => box_id))]
  const found = await Promise.all([openRestores, ...references].map((refer) => refer(db, boxIds)))
  return new Map(found.flat().map(({ snapshotId, neededBy }) => [snapshotId, neededBy]))
}

/** Snapshots that boxes are being brought back to. */
async function openRestores(db: DbOrTx, boxIds: readonly string[]) {
  const rows = await db
    .selectFrom('box_restores')
    .select(['command_id', 'snapshot_id'])
    .where('box_id', 'in', boxIds.length > 0 ? boxIds : [''])
    .where('status', 'in', ['open', 'unheard'])
    .execute()
  return rows.map(({ command_id, snapshot_id }) => ({ snapshotId: snapshot_id, neededBy: `restore ${command_id}` }))
}
