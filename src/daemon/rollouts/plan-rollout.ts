import type { Manifest } from '../../core/boxes/index.ts'
import { isoNow, newId } from '../../core/kit/index.ts'
import { planRollout as plan, type RolloutPlan } from '../../core/rollouts/index.ts'
import { currentManifest } from '../boxes/index.ts'
import { pastUpdates } from './actions.repo.ts'
import { knownBoxes } from './known-boxes.ts'
import type { RolloutsNeeds } from './needs.ts'

export type PlanNeeds = Pick<
  RolloutsNeeds,
  'db' | 'clock' | 'random' | 'settings' | 'probe' | 'staleAfterMs' | 'offlineAfterMs' | 'schemas' | 'daemonVersion' | 'fenceMaxMs'
>

/** A plan with the id that its draw of early boxes belongs to, and the manifest it aims at. */
export type Planned = Readonly<{ id: string; manifest: Manifest; plan: RolloutPlan }>

type Wanted = Readonly<{ targetSlugs?: readonly string[] | undefined; allowLongFence: boolean }>

/** Plans a staged rollout to the current manifest; stores nothing. Throws NOT_FOUND without a manifest, VALIDATION for unknown slugs. */
export async function planStaged(needs: PlanNeeds, { targetSlugs, allowLongFence }: Wanted): Promise<Planned> {
  const { db, clock, random, settings, probe, staleAfterMs, schemas, daemonVersion, fenceMaxMs } = needs
  const { manifest, revision } = await currentManifest(db)
  const id = newId(random, 'ro')
  const made = plan({
    rolloutId: id,
    kind: 'staged',
    manifest,
    manifestRevision: revision,
    boxes: await knownBoxes(needs, db),
    targetSlugs: targetSlugs ?? null,
    history: await pastUpdates(db),
    probe,
    limits: settings,
    now: isoNow(clock),
    staleAfterMs,
    schemas,
    daemonVersion,
    fenceMaxMs,
    allowLongFence,
  })
  return { id, manifest, plan: made }
}
