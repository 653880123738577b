import { type Component, type Manifest, type ProbeRule, type Tier, targetImage, VersionedService } from '../boxes/index.ts'
import { problem } from '../kit/index.ts'
import { type Examination, examineBox, type KnownBox } from './examine-box.ts'
import { makespanMs, type Parallelism } from './makespan.ts'
import { assignPhases } from './phases.ts'
import type { PlannedBox, PlannedPhase, RolloutPlan } from './plan.ts'
import type { Phase, RolloutKind } from './rollout.ts'
import { phaseOrder } from './transition.ts'

/** How long an update took before. Histories come newest first. */
export type PastUpdate = Readonly<{ slug: string; durationMs: number; fencedMs: number }>

export type PlanInput = Readonly<{
  rolloutId: string
  kind: RolloutKind
  manifest: Manifest
  manifestRevision: number
  /** All live boxes; the narrowing is done here. */
  boxes: readonly KnownBox[]
  targetSlugs: readonly string[] | null
  history: readonly PastUpdate[]
  probe: ProbeRule
  limits: Parallelism
  now: string
  staleAfterMs: number
}>

/** Who goes when, from what to what, what speaks against it, and how long it takes. Throws VALIDATION for slugs that no box has. */
export function planRollout(input: PlanInput): RolloutPlan {
  const scope = narrow(input)
  const examined = scope.map((box) => ({ box, found: look(input, box) }))
  const phases = assignPhases(
    input.rolloutId,
    input.kind,
    examined.map(({ box, found }) => ({ ...box, updates: found.does === 'update' })),
  )
  const lookUp: LookUps = { digests: digestsSeen(input.boxes), expect: expectations(input) }
  const boxes = examined.map(({ box, found }) => planBox(input, lookUp, box, found, phases.get(box.slug) as Phase)).toSorted(bySlug)
  const planned = phaseOrder[input.kind].map((phase) => planPhase(phase, boxes, input.limits))
  const findings = boxes.flatMap((box) => box.findings)
  return {
    kind: input.kind,
    madeAt: input.now,
    manifestRevision: input.manifestRevision,
    targets: input.manifest.tiers,
    targetSlugs: input.targetSlugs && [...input.targetSlugs],
    parallel: input.limits.parallel,
    phases: planned,
    boxes,
    updates: boxes.filter(({ does }) => does === 'update').length,
    refusals: boxes.filter(({ does }) => does === 'refuse').length,
    warnings: findings.filter(({ severity }) => severity === 'warn').length,
    expectedMs: planned.reduce((sum, { expectedMs }) => sum + expectedMs, 0),
  }
}

/** A rollout of the whole fleet passes over what is only observed; naming such a box asks for what cannot be, and is refused. */
function look(input: PlanInput, box: KnownBox): Examination {
  const found = examineBox(box, input.manifest.tiers[box.tier], input)
  if (box.managed || input.targetSlugs !== null || found.does === 'skip') return found
  const message = `${box.slug} is only observed and is left out: it can be updated once its adoption is complete`
  return { ...found, does: 'skip', findings: [{ severity: 'warn', code: 'NOT_MANAGED', message }] }
}

const bySlug = (a: { tenantSlug: string }, b: { tenantSlug: string }) => (a.tenantSlug < b.tenantSlug ? -1 : 1)

function narrow({ boxes, targetSlugs }: PlanInput): readonly KnownBox[] {
  if (targetSlugs === null) return boxes
  const known = new Map(boxes.map((box) => [box.slug, box]))
  const unknown = targetSlugs.flatMap((slug, at) =>
    known.has(slug) ? [] : [{ path: `targetSlugs.${at}`, reason: `no box is called ${slug}` }],
  )
  if (unknown.length > 0)
    throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}: \`tenantry boxes list\` shows them`, {
      details: unknown,
    })
  return [...new Set(targetSlugs)].map((slug) => known.get(slug) as KnownBox)
}

type Expectation = Pick<PlannedBox, 'expectedMs' | 'expectedFenceMs' | 'worstFenceMs'>
type LookUps = Readonly<{ digests: ReadonlyMap<string, string>; expect: (slug: string) => Expectation }>

function planBox(input: PlanInput, lookUp: LookUps, box: KnownBox, { does, changes, findings }: Examination, phase: Phase): PlannedBox {
  const images = changedImages(input.manifest, box.tier, changes).map(([service, image]) => [
    service,
    { image, digest: lookUp.digests.get(image) ?? null },
  ])
  return {
    tenantSlug: box.slug,
    boxId: box.boxId,
    hostId: box.hostId,
    hostName: box.hostName,
    tier: box.tier,
    phase,
    does,
    from: box.installed,
    to: input.manifest.tiers[box.tier],
    changes,
    images: Object.fromEntries(images),
    findings,
    ...lookUp.expect(box.slug),
  }
}

/** The image of every service whose version changes. */
export const changedImages = (manifest: Manifest, tier: Tier, changes: readonly Component[]): [VersionedService, string][] =>
  VersionedService.options.filter((service) => changes.includes(service)).map((service) => [service, targetImage(manifest, tier, service)])

/** What the fleet runs under each reference; a guess for the eyes, the first pull decides. */
function digestsSeen(boxes: readonly KnownBox[]): ReadonlyMap<string, string> {
  const running = boxes.flatMap(({ report }) => Object.values(report?.services ?? {}))
  return new Map(running.flatMap((service) => (service?.digest ? [[service.image, service.digest]] : [])))
}

/** Before there is any history: pull, snapshot, recreate; then again for the way back. */
const workMs = 60_000

function expectations({ history, probe }: PlanInput): (slug: string) => Expectation {
  const bySlug = new Map(history.toReversed().map((past) => [past.slug, past])) // newest first: it is what remains
  const provenMs = (probe.consecutive - 1) * probe.spacingMs
  const usualMs = median(history.map(({ durationMs }) => durationMs)) ?? 2 * workMs + provenMs
  const usualFenceMs = median(history.map(({ fencedMs }) => fencedMs)) ?? workMs + provenMs
  return (slug) => ({
    expectedMs: bySlug.get(slug)?.durationMs ?? usualMs,
    expectedFenceMs: bySlug.get(slug)?.fencedMs ?? usualFenceMs,
    worstFenceMs: 2 * (workMs + probe.timeoutMs),
  })
}

const median = (values: readonly number[]): number | undefined => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]

function planPhase(phase: Phase, boxes: readonly PlannedBox[], limits: Parallelism): PlannedPhase {
  const inPhase = boxes.filter((box) => box.phase === phase)
  const turns = inPhase
    .filter(({ does }) => does === 'update')
    .map(({ tenantSlug, hostId, expectedMs }) => ({ slug: tenantSlug, hostId, expectedMs }))
  return { phase, slugs: inPhase.map(({ tenantSlug }) => tenantSlug), expectedMs: makespanMs(turns, limits) }
}
