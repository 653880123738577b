import { type Clock, isoNow } from '../../core/kit/index.ts'
import {
  completeSnapshots,
  evaluateRetention,
  type RetainedSnapshot,
  type RetentionRule,
  type RetentionVerdict,
} from '../../core/snapshots/index.ts'
import type { Config } from '../config/index.ts'

import type { DbOrTx, WithTx } from '../db/index.ts'
import { lastRestoreOf, newestOfData } from './data-history.ts'
import type { SnapshotsDeps } from './deps.ts'
import { newestProofs, type ProofOf } from './proofs.ts'
import { type SnapshotOwner, type SnapshotRow, snapshotsOf } from './snapshots.repo.ts'

/** The retention rule of the settings. */
export function retentionRule({ snapshots }: Pick<Config, 'snapshots'>): RetentionRule {
  const { keepDaily: daily, keepWeekly: weekly, keepMonthly: monthly, preUpdateDays, preRestoreDays, manualDays, finalDays } = snapshots
  return { daily, weekly, monthly, preUpdateDays, preRestoreDays, manualDays, finalDays }
}

type Deps = Pick<SnapshotsDeps, 'clock' | 'rule' | 'references'>

/** Verdicts by tenant, and the last proof of each snapshot, on which they depend. */
type Evaluated = Readonly<{ verdicts: ReadonlyMap<string, RetentionVerdict>; proofOf: ProofOf }>

/** Applies retention to the repositories of these tenants, with the references of all features. */
export async function evaluateSnapshots(deps: Deps, db: DbOrTx, tenantIds: readonly string[]): Promise<Evaluated> {
  const rows = await snapshotsOf(db, tenantIds)
  const inUse = await inUseOf(deps, db, rows)
  const proofOf = await newestProofs(db, tenantIds)
  const unrecorded = await unrecordedTimes(db, tenantIds)
  const verdicts = new Map(
    tenantIds.map((tenantId) => {
      const snapshots = rows.filter((row) => row.tenant_id === tenantId).map(retained(proofOf))
      return [
        tenantId,
        evaluateRetention({ snapshots, rule: deps.rule, now: isoNow(deps.clock), inUse, unrecorded: unrecorded.get(tenantId) }),
      ]
    }),
  )
  return { verdicts, proofOf }
}

const retained =
  (proofOf: ProofOf) =>
  ({ tenant_id, snapshot_id: snapshotId, tier, taken_at: takenAt, status, sha256 }: SnapshotRow): RetainedSnapshot => ({
    ...{ snapshotId, tier, takenAt, status },
    provenAt: proofOf(tenant_id, snapshotId)?.at ?? null,
    reported: sha256 !== null,
  })

/**
 * The newest snapshot of the data of this box that can be restored: one that no command reported may have no dump. Data that a restore replaced is used
 * only where there is no other.
 */
export async function newestRestorable(db: DbOrTx, { id, tenantId }: SnapshotOwner): Promise<SnapshotRow | undefined> {
  const last = await lastRestoreOf(db, { id })
  const rows = (await snapshotsOf(db, [tenantId])).filter(({ box_id }) => box_id === id)
  const snapshots = rows.map(retained(await newestProofs(db, [tenantId])))
  const unrecorded = (await unrecordedTimes(db, [tenantId])).get(tenantId)
  const byId = new Map(rows.map((row) => [row.snapshot_id, row]))
  const newestFirst = completeSnapshots({ snapshots, unrecorded }).map(({ snapshotId }) => byId.get(snapshotId) as SnapshotRow)
  return newestOfData(newestFirst, { all: rows, last })
}

type Unrecorded = Readonly<{ from: string; until: string }>

async function unrecordedTimes(db: DbOrTx, tenantIds: readonly string[]): Promise<ReadonlyMap<string, Unrecorded>> {
  const rows = await db
    .selectFrom('snapshot_repositories')
    .select(['tenant_id', 'unrecorded_from', 'unrecorded_until'])
    .where('tenant_id', 'in', tenantIds.length > 0 ? tenantIds : [''])
    .execute()
  return new Map(
    rows.flatMap(({ tenant_id, unrecorded_from: from, unrecorded_until: until }) =>
      from === null || until === null ? [] : [[tenant_id, { from, until }] as const],
    ),
  )
}

/** After the database was restored from a backup of this time: snapshots taken since are unknown to it, and no less complete for that. */
export async function recordRestoredDatabase({ tx, clock }: WithTx<{ clock: Clock }>, backupAt: string): Promise<void> {
  await tx
    .updateTable('snapshot_repositories')
    .set(({ fn, val }) => ({ unrecorded_from: fn.coalesce('unrecorded_from', val(backupAt)), unrecorded_until: isoNow(clock) }))
    .execute()
}

async function inUseOf({ references }: Deps, db: DbOrTx, rows: readonly SnapshotRow[]): Promise<ReadonlyMap<string, string>> {
  const boxIds = [...new Set(rows.map(({ box_id }) => box_id))]
  const found = await Promise.all([openRestores, ...references].map((refer) => refer(db, boxIds)))
  return new Map(found.flat().map(({ snapshotId, neededBy }) => [snapshotId, neededBy]))
}

/** Snapshots of open and unresolved restores. */
async function openRestores(db: DbOrTx, boxIds: readonly string[]) {
  const rows = await db
    .selectFrom('box_restores')
    .select(['command_id', 'snapshot_id'])
    .where('box_id', 'in', boxIds.length > 0 ? boxIds : [''])
    .where('status', 'in', ['open', 'unheard'])
    .execute()
  return rows.map(({ command_id, snapshot_id }) => ({ snapshotId: snapshot_id, neededBy: `restore ${command_id}` }))
}
