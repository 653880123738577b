import type { Selectable } from 'kysely'
import type { AgentError, ArchivePart } from '../../core/boxes/index.ts'
import { asJson, type Clock, isoNow } from '../../core/kit/index.ts'
import type { Archive } from '../../core/snapshots/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { SnapshotOwner } from './snapshots.repo.ts'
import type { ArchivePartTable, ArchiveStateTable } from './snapshots.tables.ts'

const partOf = (row: Selectable<ArchivePartTable>): ArchivePart => ({
  ...{ snapshotId: row.snapshot_id, kind: row.kind, line: row.line, from: row.from_lsn, to: row.to_lsn, at: row.at },
  ...(row.data === null ? {} : { data: row.data }),
  addedBytes: Number(row.added_bytes),
})

/** Registers parts of a box; a known one stays as it is. */
export async function recordParts(
  tx: Tx,
  { id, tenantId }: Pick<SnapshotOwner, 'id' | 'tenantId'>,
  parts: readonly ArchivePart[],
): Promise<void> {
  for (const { snapshotId, kind, line, from, to, at, data, addedBytes } of parts)
    await tx
      .insertInto('archive_parts')
      .values({
        ...{ tenant_id: tenantId, snapshot_id: snapshotId, box_id: id, kind, line, from_lsn: from, to_lsn: to },
        ...{ at: new Date(at).toISOString(), data: data ?? null, added_bytes: Math.round(addedBytes) },
      })
      .onConflict((c) => c.columns(['tenant_id', 'snapshot_id']).doNothing())
      .execute()
}

/** All parts of the boxes of a tenant, which may have had several. */
export async function partsOfTenant(db: DbOrTx, tenantId: string): Promise<readonly ArchivePart[]> {
  return (await db.selectFrom('archive_parts').selectAll().where('tenant_id', '=', tenantId).execute()).map(partOf)
}

export async function removeParts(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += chunkSize)
    await tx
      .deleteFrom('archive_parts')
      .where('tenant_id', '=', tenantId)
      .where('snapshot_id', 'in', ids.slice(at, at + chunkSize))
      .execute()
}

/** Their repository is gone for good, with all parts. */
export async function forgetArchives(tx: Tx, tenantId: string): Promise<void> {
  await tx.deleteFrom('archive_parts').where('tenant_id', '=', tenantId).execute()
  await tx.deleteFrom('archive_states').where('tenant_id', '=', tenantId).execute()
}

/** The time of the first part of each current line that has no base: nothing of it can be restored. By box. */
export async function linesWithoutBase(db: DbOrTx): Promise<ReadonlyMap<string, string>> {
  const states = await db
    .selectFrom('archive_states')
    .select(['box_id', 'line', 'covered_until'])
    .where('line', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('archive_parts')
            .select('snapshot_id')
            .whereRef('archive_parts.box_id', '=', 'archive_states.box_id')
            .whereRef('archive_parts.line', '=', 'archive_states.line')
            .where('kind', '=', 'base'),
        ),
      ),
    )
    .execute()
  const begun = await Promise.all(
    states.map(async ({ box_id, line, covered_until }) => {
      const first = await db
        .selectFrom('archive_parts')
        .select('at')
        .where('box_id', '=', box_id)
        .where('line', '=', line)
        .orderBy('at')
        .limit(1)
        .executeTakeFirst()
      return [box_id, first?.at ?? covered_until ?? ''] as const
    }),
  )
  return new Map(begun)
}

/** Below the parameter limit of both dialects. */
const chunkSize = 500

export async function archiveOf(db: DbOrTx, boxId: string): Promise<Archive> {
  const rows = await db.selectFrom('archive_parts').selectAll().where('box_id', '=', boxId).execute()
  const { line = null, covered_until: at = null } = (await archiveState(db, boxId)) ?? {}
  return { parts: rows.map(partOf), covered: line === null || at === null ? null : { line, at } }
}

export const archiveState = (db: DbOrTx, boxId: string): Promise<Selectable<ArchiveStateTable> | undefined> =>
  db.selectFrom('archive_states').selectAll().where('box_id', '=', boxId).executeTakeFirst()

export const errorOfState = (error: string | null): AgentError | null =>
  error === null ? null : ((asJson(error) as AgentError | undefined) ?? null)

type State = Readonly<{ covered: Archive['covered']; error: AgentError | null }>

/** A report without a moment leaves the last one. */
export async function recordState(
  { tx, clock }: Readonly<{ tx: Tx; clock: Clock }>,
  box: Pick<SnapshotOwner, 'id' | 'tenantId'>,
  { covered, error }: State,
) {
  const moment = covered === null ? {} : { line: covered.line, covered_until: plausible(clock, covered.at) }
  const facts = { ...moment, reported_at: isoNow(clock), error: error && JSON.stringify(error) }
  await tx
    .insertInto('archive_states')
    .values({ box_id: box.id, tenant_id: box.tenantId, line: null, covered_until: null, ...facts })
    .onConflict((c) => c.column('box_id').doUpdateSet(facts))
    .execute()
}

/** The clock of a host may be ahead; its archive would never be late. */
const plausible = (clock: Clock, at: string): string => (at > isoNow(clock) ? isoNow(clock) : new Date(at).toISOString())
