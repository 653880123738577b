import { headOf, type Manifest } from '../../core/boxes/index.ts'
import { isoNow, newId, problem } from '../../core/kit/index.ts'
import {
  type EmergencyTargets,
  emergencyManifest,
  hostsToAsk,
  newEmergencyId,
  planRollout as plan,
  type RegistryAnswers,
  type RolloutKind,
  type RolloutPlan,
  unresolvedImages,
} from '../../core/rollouts/index.ts'
import { currentManifest } from '../boxes/index.ts'
import { pastUpdates } from './actions.repo.ts'
import type { RolloutsDeps } from './deps.ts'
import { knownBoxes } from './known-boxes.ts'
import { stagedUnderWay } from './rollouts.repo.ts'
import { waysBackByImages } from './undo/ways-back.repo.ts'
import { bringingMoreBack } from './undos-under-way.repo.ts'

export type PlanDeps = Pick<
  RolloutsDeps,
  | 'db'
  | 'clock'
  | 'random'
  | 'settings'
  | 'probe'
  | 'staleAfterMs'
  | 'offlineAfterMs'
  | 'schemas'
  | 'daemonVersion'
  | 'fenceMaxMs'
  | 'migrations'
  | 'windows'
  | 'askRegistries'
>

/** A plan with the id that its draw of early boxes belongs to, and the manifest it aims at. */
export type Planned = Readonly<{ id: string; manifest: Manifest; plan: RolloutPlan }>

type Wanted = Readonly<{ targetSlugs?: readonly string[] | undefined; allowLongFence: boolean; ignoreWindows?: boolean }>
type AnyKind = Readonly<{ kind: RolloutKind } & EmergencyTargets>

/** Of either kind, as asked. */
export const planWanted = (
  deps: PlanDeps,
  { kind, targetSlugs, allowLongFence, ignoreWindows = false, ...targets }: Wanted & AnyKind,
): Promise<Planned> =>
  kind === 'emergency_cve' ? planEmergency(deps, targets) : planStaged(deps, { targetSlugs, allowLongFence, ignoreWindows })

/** Plans a staged rollout to the current manifest; stores nothing. Throws NOT_FOUND without a manifest, VALIDATION for unknown slugs. */
export function planStaged(deps: PlanDeps, { targetSlugs, allowLongFence, ignoreWindows = false }: Wanted): Promise<Planned> {
  const id = newId(deps.random, 'ro')
  const asked = { targetSlugs: targetSlugs ?? null, allowLongFence, ignoreWindows }
  return withImages(deps, async (resolved) => {
    const { manifest, revision } = await currentManifest(deps.db)
    const aim: Aim = { rolloutId: id, kind: 'staged', manifest, manifestRevision: revision, ...asked, resolved }
    return { id, manifest, plan: await planFor(deps, aim) }
  })
}

/**
 * Plans an emergency: the whole fleet, to the manifest that it would make. A long fence is told and keeps no box out. Throws NOT_FOUND
 * without a manifest, VALIDATION for a migrations head that this daemon does not carry.
 */
export async function planEmergency(deps: PlanDeps, targets: EmergencyTargets): Promise<Planned> {
  refuseUnknownHead(deps, targets)
  const id = newEmergencyId(deps.clock, deps.random)
  const asked = { rolloutId: id, kind: 'emergency_cve', targetSlugs: null, allowLongFence: true } as const
  return withImages(deps, async (resolved) => {
    const current = await currentManifest(deps.db)
    const manifest = emergencyManifest(current.manifest, targets)
    const plan = await planFor(deps, { ...asked, manifest, manifestRevision: current.revision + 1, resolved })
    return { id, manifest, plan: { ...plan, pauses: await stagedUnderWay(deps.db), stopsUndosOf: await bringingMoreBack(deps.db) } }
  })
}

/**
 * Registries are asked once about what the fleet does not run. The answer takes its time, so the plan is made anew with it: what it says of
 * the fleet is from now.
 */
async function withImages({ askRegistries }: PlanDeps, draft: (resolved: RegistryAnswers) => Promise<Planned>): Promise<Planned> {
  const first = await draft(new Map())
  const images = unresolvedImages(first.plan)
  if (!askRegistries || images.length === 0) return first
  return draft(await askRegistries(images, hostsToAsk(first.plan)))
}

function refuseUnknownHead({ migrations }: PlanDeps, { toMigrationsHead: head }: EmergencyTargets): void {
  const last = headOf(migrations)
  if (head === undefined || head <= last) return
  const reason = `names ${head}, and the last box migration is ${last}`
  throw problem('VALIDATION', `toMigrationsHead ${reason}`, { details: [{ path: 'toMigrationsHead', reason }] })
}

type Aim = Pick<
  Parameters<typeof plan>[0],
  'rolloutId' | 'kind' | 'manifest' | 'manifestRevision' | 'targetSlugs' | 'allowLongFence' | 'ignoreWindows' | 'resolved'
>

async function planFor(deps: PlanDeps, aim: Aim): Promise<RolloutPlan> {
  const { db, clock, settings, probe, staleAfterMs, schemas, daemonVersion, fenceMaxMs } = deps
  return plan({
    ...aim,
    boxes: await knownBoxes(deps, db),
    history: await pastUpdates(db),
    waysBack: await waysBackByImages(db),
    probe,
    limits: settings,
    now: isoNow(clock),
    staleAfterMs,
    schemas,
    daemonVersion,
    fenceMaxMs,
  })
}
