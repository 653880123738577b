import { diffManifests, type Manifest, type ManifestChange } from '../../core/boxes/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { insertManifest, manifestByRevision } from './manifests.repo.ts'

/**
 * Makes a manifest the canonical one within somebody else's transaction. `revision` is the one after that which it was made from: when
 * another was applied meanwhile the number is taken, and the unique constraint ends the transaction. Answers what changed; the caller writes
 * it into the audit log, at its end.
 */
export async function raiseManifest(
  tx: Tx,
  clock: Clock,
  actor: Actor,
  { revision, manifest }: Readonly<{ revision: number; manifest: Manifest }>,
): Promise<readonly ManifestChange[]> {
  const before = await manifestByRevision(tx, revision - 1)
  await insertManifest(tx, { revision, manifest, appliedAt: isoNow(clock), appliedBy: actorLabel(actor) })
  return diffManifests(before.manifest, manifest)
}
