import { sql } from 'kysely'
import { Component, type Fix, type Manifest, Tier } from '../../../core/boxes/index.ts'
import { type Fixes, isOver } from '../../../core/rollouts/index.ts'
import { type DbOrTx, lockExclusive, lockShared, type Tx } from '../../db/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/**
 * The versions of all emergencies that were ever started, oldest first. An emergency whose own boxes were rolled back does not count: an
 * operator found its versions worse than the vulnerability. No emergency starts between this read and the commit.
 */
export async function fixesOfEmergencies(tx: Tx): Promise<Fix[]> {
  await lockShared(tx, emergencyStarts)
  return (await startedEmergencies(tx)).map(fixOf)
}

/**
 * Shared while a restore reads the fixes, exclusive while an emergency starts. Otherwise an emergency could count a box as fixed that is about
 * to be restored to a version from before.
 */
const emergencyStarts = 'an emergency begins'

/** Taken before the start reads which boxes roll back, and before it publishes anything: restores that it waits for may publish too. */
export const lockForEmergency = (tx: Tx): Promise<void> => lockExclusive(tx, emergencyStarts)

/**
 * The fixes of all emergencies by whether they started before or after the rollout was created. An emergency itself counts as before once it
 * is finished: its rollback warns of its own vulnerability.
 */
export async function fixesAround(db: DbOrTx, { id, createdAt, status }: StoredRollout): Promise<Fixes> {
  const emergencies = await startedEmergencies(db)
  const isOwn = (row: Row) => row.id === id
  const isSince = ({ started_at }: Row) => started_at !== null && started_at >= createdAt
  const before = emergencies.filter((row) => (isOwn(row) ? isOver(status) : !isSince(row)))
  return { since: emergencies.filter((row) => !isOwn(row) && isSince(row)).map(fixOf), before: before.map(fixOf) }
}

/** The last emergency that updated the box since the rollout was created; null where none did. */
export async function emergencySince(db: DbOrTx, { createdAt }: StoredRollout, boxId: string): Promise<string | null> {
  const emergencies = await db.selectFrom('rollouts').select('id').where('kind', '=', 'emergency_cve').execute()
  if (emergencies.length === 0) return null
  const ids = emergencies.map(({ id }) => id)
  const row = await db
    .selectFrom('rollout_actions')
    .select('rollout_id')
    .where('rollout_id', 'in', ids)
    .where('slug', '=', (query) => query.selectFrom('boxes').select('slug').where('id', '=', boxId))
    .where('box_id', '=', boxId)
    .where('status', '=', 'succeeded')
    .where('finished_at', '>=', createdAt)
    .orderBy('finished_at', 'desc')
    .executeTakeFirst()
  return row?.rollout_id ?? null
}

/** The versions that an emergency was ordered for; undefined for one of a daemon that did not store them. */
export async function fixesOf(db: DbOrTx, id: string): Promise<Fix['versions'] | undefined> {
  const row = await db.selectFrom('rollouts').select('fixes').where('id', '=', id).executeTakeFirst()
  return row?.fixes ? JSON.parse(row.fixes) : undefined
}

type Row = Readonly<{
  id: string
  cve_id: string | null
  fixes: string | null
  manifest: string
  /** The manifest that it was created from. */
  before: string | null
  started_at: string | null
  finished_at: string | null
}>

const fixOf = ({ id, cve_id, fixes, manifest, before, finished_at }: Row): Fix => ({
  emergency: id,
  cveId: cve_id,
  overAt: finished_at,
  versions: fixes === null ? changedVersions(JSON.parse(manifest), before && JSON.parse(before)) : JSON.parse(fixes),
})

/** For emergencies from before `fixes` was stored: what they changed of the manifest, or all of it where they changed nothing. */
function changedVersions({ tiers }: Manifest, before: Manifest | null): Fix['versions'] {
  const changed = Component.options.filter((name) => Tier.options.some((tier) => tiers[tier][name] !== before?.tiers[tier][name]))
  return Object.fromEntries((changed.length > 0 ? changed : Component.options).map((name) => [name, tiers.free[name]]))
}

const startedEmergencies = (db: DbOrTx): Promise<Row[]> =>
  db
    .selectFrom('rollouts')
    .leftJoin('manifests as former', (join) => join.on('former.revision', '=', sql<number>`rollouts.manifest_revision - 1`))
    .select(['id', 'cve_id', 'fixes', 'manifest', 'former.content as before', 'started_at', 'finished_at'])
    .where('kind', '=', 'emergency_cve')
    .where('started_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('rollout_actions').select('id').whereRef('rollout_id', '=', 'rollouts.id').where('rollback_mode', 'is not', null),
        ),
      ),
    )
    .orderBy('started_at')
    .execute()
