import { type Component, type Manifest, type ProbeRule, type Tier, targetImage, VersionedService } from '../boxes/index.ts'
import { problem } from '../kit/index.ts'
import type { PlannedBox, PlannedImage, PlannedPhase, RolloutPlan } from './plan.ts'
import { type Expectation, expectations, fenceFindings, type PastRollback, type PastUpdate, proposeFenceMode } from './plan-expectations.ts'
import { imagesOf, knownImages, type RegistryAnswers } from './plan-images.ts'
import { isRefused, type KnownBox, type Limits, type Preflight, preflightBox } from './preflight.ts'

import { type Phase, phaseOrder, type RolloutKind } from './rollout.ts'
import { assignPhases, makespanMs, type Parallelism } from './scheduling.ts'

import { type PlannedWindow, planWindows } from './update-windows.ts'

export type PlanInput = Limits &
  Readonly<{
    rolloutId: string
    kind: RolloutKind
    manifest: Manifest
    manifestRevision: number
    /** All live boxes; the narrowing is done here. */
    boxes: readonly KnownBox[]
    targetSlugs: readonly string[] | null
    history: readonly PastUpdate[]
    /** Ways back by images, of any rollout. */
    rollbacks: readonly PastRollback[]
    probe: ProbeRule
    limits: Parallelism
    /** A box whose chat would be away for longer is refused, unless that is allowed. */
    fenceMaxMs: number
    allowLongFence: boolean
    /** Maintenance windows keep no box from its turn, as in an emergency. */
    ignoreWindows?: boolean
    /** What registries said of images that the fleet does not run; absent: nobody was asked. */
    resolved?: RegistryAnswers
  }>

/** Who goes when, from what to what, what speaks against it, and how long it takes. Throws VALIDATION for slugs that no box has. */
export function planRollout(input: PlanInput): RolloutPlan {
  const scope = narrow(input)
  const expect = expectations(input.history, input.probe)
  const windowOf = planWindows(input.now, input.kind === 'emergency_cve' || input.ignoreWindows === true)
  const examined = scope.map((box) => {
    const expected = expect(box)
    const window = windowOf(box, expected)
    return { box, expected, window, found: look(input, box, expected, window) }
  })
  const phases = assignPhases(
    input.rolloutId,
    input.kind,
    examined.map(({ box, found }) => ({ ...box, updates: found.does === 'update' })),
  )
  const know = knownImages(input.boxes, input.resolved ?? new Map())
  const boxes = examined
    .map(({ box, ...seen }) => planBox(input, know, box, { ...seen, phase: phases.get(box.slug) as Phase }))
    .toSorted(bySlug)
  const planned = planPhases(input, boxes, new Map(examined.map(({ box, window }) => [box.slug, window])))
  const findings = boxes.flatMap((box) => box.findings)
  const proposedFenceMode = proposeFenceMode(boxes, input)
  return {
    kind: input.kind,
    madeAt: input.now,
    manifestRevision: input.manifestRevision,
    targets: input.manifest.tiers,
    targetSlugs: input.targetSlugs && [...input.targetSlugs],
    parallel: input.limits.parallel,
    phases: planned,
    boxes,
    images: imagesOf(boxes, know),
    updates: boxes.filter(({ does }) => does === 'update').length,
    refusals: boxes.filter(({ does }) => does === 'refuse').length,
    warnings: findings.filter(({ severity }) => severity === 'warn').length,
    expectedMs: planned.reduce((sum, { expectedMs }) => sum + expectedMs, 0),
    ...(proposedFenceMode === undefined ? {} : { proposedFenceMode }),
  }
}

/** A rollout of the whole fleet passes over what is only observed; naming such a box asks for what cannot be, and is refused. */
function look(input: PlanInput, box: KnownBox, expected: Expectation, window: PlannedWindow): Preflight {
  const found = withTime(input, box, expected, window, preflightBox(box, input.manifest.tiers[box.tier], input))
  if (box.managed || input.targetSlugs !== null || found.does === 'skip') return found
  const message = `${box.slug} is only observed and is left out: it can be updated once its adoption is complete`
  return { ...found, does: 'skip', findings: [{ severity: 'warn', code: 'NOT_MANAGED', message }] }
}

function withTime(input: PlanInput, { slug }: KnownBox, expected: Expectation, window: PlannedWindow, found: Preflight): Preflight {
  if (found.does === 'skip') return found
  const findings = [...found.findings, ...fenceFindings(slug, expected, input), ...window.findings]
  return { ...found, does: isRefused(findings) ? 'refuse' : 'update', findings }
}

const bySlug = (a: { tenantSlug: string }, b: { tenantSlug: string }) => (a.tenantSlug < b.tenantSlug ? -1 : 1)

function narrow({ boxes, targetSlugs }: PlanInput): readonly KnownBox[] {
  if (targetSlugs === null) return boxes
  const known = new Map(boxes.map((box) => [box.slug, box]))
  const unknown = targetSlugs.flatMap((slug, at) =>
    known.has(slug) ? [] : [{ path: `targetSlugs.${at}`, reason: `there is no box ${slug}` }],
  )
  if (unknown.length > 0)
    throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}: \`tenantry boxes list\` shows all`, {
      details: unknown,
    })
  return [...new Set(targetSlugs)].map((slug) => known.get(slug) as KnownBox)
}

type Seen = Readonly<{ expected: Expectation; window: PlannedWindow; found: Preflight; phase: Phase }>

function planBox(
  input: PlanInput,
  know: (image: string) => PlannedImage,
  box: KnownBox,
  { expected, window, found, phase }: Seen,
): PlannedBox {
  const { does, changes, findings } = found
  const images = changedImages(input.manifest, box.tier, changes).map(([service, image]) => [
    service,
    { image, digest: know(image).digest },
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
    ...expected,
    window: window.next,
  }
}

/** The image of every service whose version changes. */
export const changedImages = (manifest: Manifest, tier: Tier, changes: readonly Component[]): [VersionedService, string][] =>
  VersionedService.options.filter((service) => changes.includes(service)).map((service) => [service, targetImage(manifest, tier, service)])

/** Each begins when the one before it is through: at night another window is open than now. */
function planPhases({ kind, limits, now }: PlanInput, boxes: readonly PlannedBox[], windows: ReadonlyMap<string, PlannedWindow>) {
  let startMs = Date.parse(now)
  return phaseOrder[kind].map((phase): PlannedPhase => {
    const inPhase = boxes.filter((box) => box.phase === phase)
    const turns = inPhase
      .filter(({ does }) => does === 'update')
      .map(({ tenantSlug: slug, hostId, expectedMs }) => ({ slug, hostId, expectedMs, earliestMs: windows.get(slug)?.earliestMs }))
    const expectedMs = makespanMs(turns, limits, startMs)
    startMs += expectedMs
    return { phase, slugs: inPhase.map(({ tenantSlug }) => tenantSlug), expectedMs }
  })
}
