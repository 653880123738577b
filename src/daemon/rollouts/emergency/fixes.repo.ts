import { sql } from 'kysely'
import { Component, type Fix, type Manifest, Tier } from '../../../core/boxes/index.ts'
import type { Fixes } from '../../../core/rollouts/index.ts'
import { type DbOrTx, lockExclusive, lockShared, prepared, type Tx } from '../../db/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/**
 * What the emergencies that were ever begun have brought, whatever became of them; the oldest first. One whose boxes were sent back stands for
 * nothing any more: a person took its versions for worse than the hole.
 */
export async function fixesOfEmergencies(tx: Tx): Promise<Fix[]> {
  await lockShared(tx, emergencyBegins)
  const { rows } = await begunEmergencies(tx, {})
  return rows.map(fixOf)
}

/**
 * Whoever looks for what emergencies have brought passes here, and so does one that begins: none begins between that look and its commit, also
 * none that is made only then, for it would pass over a box that is about to go back behind it. One that is just beginning is waited for.
 */
const emergencyBegins = 'an emergency begins'

/** Before it looks at who is on the way back, and before it tells anybody: those whom it waits for may have something to tell themselves. */
export const passWaysBack = (tx: Tx): Promise<void> => lockExclusive(tx, emergencyBegins)

/** Those beside a rollout itself. What it did before one began was not that one's yet, and is by now. */
export async function fixesAround(db: DbOrTx, { id, createdAt }: StoredRollout): Promise<Fixes> {
  const others = (await begunEmergencies(db, {})).rows.filter((row) => row.id !== id)
  const isSince = ({ started_at }: Row) => started_at !== null && started_at >= createdAt
  return { since: others.filter(isSince).map(fixOf), before: others.filter((row) => !isSince(row)).map(fixOf) }
}

type Row = Readonly<{
  id: string
  cve_id: string | null
  fixes: string | null
  manifest: string
  /** The revision that it was made from. */
  before: string | null
  started_at: string | null
  finished_at: string | null
}>

const fixOf = ({ id, cve_id, fixes, manifest, before, finished_at }: Row): Fix => ({
  emergency: id,
  cveId: cve_id,
  overAt: finished_at,
  versions: fixes === null ? changed(JSON.parse(manifest), before && JSON.parse(before)) : JSON.parse(fixes),
})

/** One from before that was kept was about what it changed of the manifest; made anew it changed nothing, and may have been about all of it. */
function changed({ tiers }: Manifest, before: Manifest | null): Fix['versions'] {
  const others = Component.options.filter((name) => Tier.options.some((tier) => tiers[tier][name] !== before?.tiers[tier][name]))
  return Object.fromEntries((others.length > 0 ? others : Component.options).map((name) => [name, tiers.free[name]]))
}

/** They are few. */
const begunEmergencies = prepared<Record<never, never>, Row>((db) =>
  db
    .selectFrom('rollouts')
    .leftJoin('manifests as former', (join) => join.on('former.revision', '=', sql<number>`rollouts.manifest_revision - 1`))
    .select(['id', 'cve_id', 'fixes', 'manifest', 'former.content as before', 'started_at', 'finished_at'])
    .where('kind', '=', 'emergency_cve')
    .where('started_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('rollout_actions').select('id').whereRef('rollout_id', '=', 'rollouts.id').where('undo_mode', 'is not', null))),
    )
    .orderBy('started_at'),
)
