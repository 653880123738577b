import { parse } from 'yaml'
import { headOf, type Manifest, parseSynapseSchemas, type SynapseSchemas, type TierVersions } from '../../core/boxes/index.ts'
import { isoNow, newId, problem } from '../../core/kit/index.ts'
import {
  type EmergencyTargets,
  emergencyManifest,
  hostsToAsk,
  limitsOf,
  namedVersions,
  newEmergencyId,
  planRollout as plan,
  type RegistryAnswers,
  type RequestedFence,
  type RequestedSnapshot,
  type RolloutKind,
  type RolloutPlan,
  unresolvedImages,
} from '../../core/rollouts/index.ts'
import { readUtf8 } from '../../node/index.ts'
import { currentManifest } from '../boxes/index.ts'
import { pastRollbacks, pastUpdates } from './actions.repo.ts'
import type { RolloutsDeps } from './deps.ts'
import { knownBoxes } from './known-boxes.ts'
import { activeRollouts, rolloutsWithPendingRollbacks, runningStagedRollouts } from './open-rollouts.repo.ts'
import type { StoredRollout } from './rollouts.repo.ts'

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
  | 'fenceMaxMs'
  | 'upgrades'
  | 'fences'
  | 'snapshots'
  | 'migrations'
  | 'windows'
  | 'askRegistries'
>

/** A plan, the rollout id that its random choice of early boxes depends on, and the manifest it targets. */
export type Planned = Readonly<{ id: string; manifest: Manifest; plan: RolloutPlan }>

type StagedInput = Pace & Readonly<{ targetSlugs?: readonly string[] | undefined; allowLongFence: boolean; ignoreWindows?: boolean }>
type Pace = Readonly<{
  parallel?: number | undefined
  bakeMs?: number | undefined
  fenceMode?: RequestedFence | undefined
  snapshotMode?: RequestedSnapshot | undefined
}>
type AnyInput = Readonly<{ kind: RolloutKind } & EmergencyTargets>

/** Plans a rollout of either kind; stores nothing. */
export const planAnyRollout = (
  deps: PlanDeps,
  { kind, targetSlugs, allowLongFence, ignoreWindows, parallel, bakeMs, fenceMode, snapshotMode, ...targets }: StagedInput & AnyInput,
): Promise<Planned> =>
  kind === 'emergency_cve'
    ? planEmergency(deps, targets)
    : planStaged(deps, {
        targetSlugs,
        allowLongFence,
        parallel,
        bakeMs,
        fenceMode,
        snapshotMode,
        ...(ignoreWindows === undefined ? {} : { ignoreWindows }),
      })

/** Plans a staged rollout to the current manifest; stores nothing. Throws NOT_FOUND without a manifest, VALIDATION for unknown slugs. */
export function planStaged(
  deps: PlanDeps,
  { targetSlugs, allowLongFence, ignoreWindows = false, parallel, bakeMs, fenceMode, snapshotMode }: StagedInput,
): Promise<Planned> {
  const id = newId(deps.random, 'ro')
  const asked = {
    targetSlugs: targetSlugs ?? null,
    allowLongFence,
    ignoreWindows,
    bakeMs,
    fenceMode,
    snapshotMode,
    limits: limitsOf(deps.settings, { parallel }),
  }
  return withImages(deps, async (resolved) => {
    const { manifest, revision } = await currentManifest(deps.db)
    const target: Target = { rolloutId: id, kind: 'staged', manifest, manifestRevision: revision, ...asked, resolved }
    const plan = await planFor(deps, target)
    const moving = plan.boxes.filter(({ does }) => does === 'update').map(({ tenantSlug }) => tenantSlug)
    return { id, manifest, plan: { ...plan, activeRollouts: await activeRollouts(deps.db, moving) } }
  })
}

/**
 * Plans an emergency: the whole fleet, to the manifest that it would create. A long fence is a warning and blocks no box. Throws NOT_FOUND
 * without a manifest, VALIDATION for a migrations head that this daemon does not have.
 */
export async function planEmergency(deps: PlanDeps, targets: EmergencyTargets): Promise<Planned> {
  assertKnownHead(deps, targets)
  return planVersions(deps, { id: newEmergencyId(deps.clock, deps.random), versions: namedVersions(targets) })
}

type Versions = Readonly<{ id: string; versions: Partial<TierVersions> }>

/** Plans an emergency on top of the newest manifest; stores nothing. */
export function planVersions(deps: PlanDeps, { id, versions }: Versions): Promise<Planned> {
  const asked = { rolloutId: id, kind: 'emergency_cve', targetSlugs: null, allowLongFence: true, limits: deps.settings } as const
  return withImages(deps, async (resolved) => {
    const current = await currentManifest(deps.db)
    const manifest = emergencyManifest(current.manifest, versions)
    const plan = await planFor(deps, { ...asked, manifest, manifestRevision: current.revision + 1, resolved })
    return {
      id,
      manifest,
      plan: { ...plan, pauses: await runningStagedRollouts(deps.db), stopsRollbacksOf: await rolloutsWithPendingRollbacks(deps.db) },
    }
  })
}

/** Plans a queued rollout again as it was ordered, with the fleet of now; stores nothing. */
export const planOfStored = (deps: PlanDeps, rollout: StoredRollout): Promise<Planned> =>
  withImages(deps, async (resolved) => {
    const { id, kind, manifest, manifestRevision, targetSlugs, ignoreWindows, fenceMode, snapshotMode, parallel, bakeMs } = rollout
    const allowLongFence = kind === 'emergency_cve'
    const limits = limitsOf(deps.settings, { parallel: parallel ?? undefined })
    const asked = { targetSlugs, allowLongFence, ignoreWindows, bakeMs: bakeMs ?? undefined, fenceMode, snapshotMode, limits }
    return { id, manifest, plan: await planFor(deps, { rolloutId: id, kind, manifest, manifestRevision, ...asked, resolved }) }
  })

/**
 * Plans, resolves the images that the fleet does not run from their registries, and plans again with the answers: they take seconds, and the
 * plan must show the fleet as it is now.
 */
async function withImages({ askRegistries }: PlanDeps, draft: (resolved: RegistryAnswers) => Promise<Planned>): Promise<Planned> {
  const first = await draft(new Map())
  const images = unresolvedImages(first.plan)
  if (!askRegistries || images.length === 0) return first
  return draft(await askRegistries(images, hostsToAsk(first.plan)))
}

function assertKnownHead({ migrations }: PlanDeps, { toMigrationsHead: head }: EmergencyTargets): void {
  const last = headOf(migrations)
  if (head === undefined || head <= last) return
  const reason = `is ${head}, but the last box migration is ${last}`
  throw problem('VALIDATION', `toMigrationsHead ${reason}`, { details: [{ path: 'toMigrationsHead', reason }] })
}

type Target = Pick<
  Parameters<typeof plan>[0],
  | 'rolloutId'
  | 'kind'
  | 'manifest'
  | 'manifestRevision'
  | 'targetSlugs'
  | 'allowLongFence'
  | 'ignoreWindows'
  | 'resolved'
  | 'limits'
  | 'bakeMs'
  | 'fenceMode'
  | 'snapshotMode'
>

async function planFor(deps: PlanDeps, target: Target): Promise<RolloutPlan> {
  const { db, clock, settings, probe, staleAfterMs, schemas, fenceMaxMs, upgrades, fences, snapshots } = deps
  return plan({
    ...target,
    boxes: await knownBoxes(deps, db),
    history: await pastUpdates(db),
    rollbacks: await pastRollbacks(db),
    probe,
    ...(settings.assumedUpdateMs === undefined ? {} : { assumedUpdateMs: settings.assumedUpdateMs }),
    now: isoNow(clock),
    staleAfterMs,
    schemas,
    fenceMaxMs,
    rehearsalMaxAgeMs: upgrades.rehearsalMaxAgeMs,
    fences,
    snapshots,
  })
}

/** Reads the table once, at the start of the daemon. Throws CONFIG_INVALID. */
export async function loadSynapseSchemas(file: string): Promise<SynapseSchemas> {
  return parseSynapseSchemas(asYaml(await readUtf8(file)))
}

function asYaml(text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw problem('CONFIG_INVALID', `the table of Synapse schemas is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}
