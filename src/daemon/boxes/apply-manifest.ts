import { type BoxMigration, diffManifests, type ManifestChange, needKnownHeads, parseManifest } from '../../core/boxes/index.ts'
import { type Actor, actorLabel, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, isUniqueViolation } from '../db/index.ts'
import { insertManifest, newestManifest } from './manifests.repo.ts'

export type ManifestDeps = Readonly<{ db: Db; clock: Clock; migrations: readonly BoxMigration[] }>

export type AppliedManifest = Readonly<{ revision: number; changed: boolean; changes: readonly ManifestChange[] }>

/** Makes a manifest the canonical one (spec 9.5). The content of the current revision keeps that revision; older content becomes a new one. */
export async function applyManifest({ db, clock, migrations }: ManifestDeps, actor: Actor, value: unknown): Promise<AppliedManifest> {
  const manifest = parseManifest(value)
  needKnownHeads(manifest, migrations)
  const apply = db.transaction().execute(async (tx) => {
    const current = await newestManifest(tx)
    const changes = diffManifests(current?.manifest, manifest)
    const changed = current === undefined || changes.length > 0
    const revision = changed ? (current?.revision ?? 0) + 1 : current.revision
    if (changed) await insertManifest(tx, { revision, manifest, appliedAt: isoNow(clock), appliedBy: actorLabel(actor) })
    const action = changed ? 'manifest.applied' : 'manifest.unchanged'
    await recordAudit(tx, clock, { actor, action, subject: `revision ${revision}`, data: { revision, changes } })
    return { revision, changed, changes }
  })
  return apply.catch((error) => {
    if (!isUniqueViolation(error)) throw error
    throw problem('CONFLICT', 'another manifest was applied at the same moment: look at it, then apply yours again')
  })
}

/** What applying would change; changes nothing. */
export async function compareManifest(
  { db, migrations }: Omit<ManifestDeps, 'clock'>,
  value: unknown,
): Promise<Omit<AppliedManifest, 'changed'>> {
  const manifest = parseManifest(value)
  needKnownHeads(manifest, migrations)
  const current = await newestManifest(db)
  return { revision: current?.revision ?? 0, changes: diffManifests(current?.manifest, manifest) }
}
