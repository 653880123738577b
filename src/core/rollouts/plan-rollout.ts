import {
  type Component,
  type Manifest,
  observedText,
  type ProbeRule,
  type Tier,
  type TierSnapshots,
  targetImage,
  VersionedService,
} from '../boxes/index.ts'
import { problem } from '../kit/index.ts'
import {
  chooseFence,
  type FenceChoice,
  type RequestedFence,
  type RequestedSnapshot,
  requestedFence,
  requestedSnapshot,
  type TierFences,
} from './fence-choice.ts'
import type { Finding } from './finding.ts'
import { gatesMs, gatesOf } from './gates.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { type PastRollback, pastRollbackFindings } from './past-rollback.ts'
import { phaseOrder } from './phases.ts'
import type { PlannedBox, PlannedImage, PlannedPhase, RolloutPlan } from './plan.ts'
import { type Expectation, expectations, fenceFindings, type PastUpdate } from './plan-expectations.ts'
import { digestFindings, imagesOf, knownImages, missingImageFindings, type RegistryAnswers } from './plan-images.ts'
import { changesBetween, isRefused, type Preflight, preflightBox } from './preflight.ts'
import { isUpgrade, rehearsedDigestFindings, roomOf } from './preflight-upgrade.ts'
import type { Phase, RolloutKind } from './rollout.ts'
import { assignPhases, makespanMs, type Parallelism } from './scheduling.ts'

import { type PlannedWindow, planWindows } from './update-windows.ts'

export type PlanInput = Limits &
  Readonly<{
    rolloutId: string
    kind: RolloutKind
    manifest: Manifest
    manifestRevision: number
    /** All live boxes; `targetSlugs` narrows them. */
    boxes: readonly KnownBox[]
    targetSlugs: readonly string[] | null
    history: readonly PastUpdate[]
    /** The last rollback of each box that had one. */
    rollbacks?: readonly PastRollback[]
    probe: ProbeRule
    limits: Parallelism
    /** Watching time after each phase with updates. */
    bakeMs?: number | undefined
    /** Duration of the parts of an update until one was measured. */
    assumedUpdateMs?: number
    /** A longer expected downtime is refused, unless allowed. */
    fenceMaxMs: number
    /** The age up to which the rehearsal of an upgrade of PostgreSQL counts. */
    rehearsalMaxAgeMs: number
    allowLongFence: boolean
    /** When fences end and when snapshots are stored: of this rollout, and of each tier. */
    fenceMode?: RequestedFence | undefined
    fences: TierFences
    snapshotMode?: RequestedSnapshot | undefined
    snapshots: TierSnapshots
    /** Boxes are updated outside their maintenance windows too, as in an emergency. */
    ignoreWindows?: boolean
    /** Answers of registries about images that the fleet does not run; absent: none was asked. */
    resolved?: RegistryAnswers
  }>

/** Measured on small boxes with a slow registry. */
const defaultUpdateMs = 60_000

/** The order of the boxes, their version changes, findings and durations. Throws VALIDATION for unknown slugs. */
export function planRollout(input: PlanInput): RolloutPlan {
  const scope = narrow(input)
  const expect = expectations(input.history, { probe: input.probe, assumedUpdateMs: input.assumedUpdateMs ?? defaultUpdateMs })
  const rollbacks = new Map(input.rollbacks?.map((past) => [past.slug, past]))
  const windowOf = planWindows(input.now, input.kind === 'emergency_cve' || input.ignoreWindows === true)
  const imageOf = knownImages(input.boxes, input.resolved ?? new Map(), input.manifest.digests)
  const examined = scope.map((box) => {
    const fence = fenceFor(input, box)
    const expected = withUpgrade(expect(box, fence), fence.way && box.rehearsal)
    const window = windowOf(box, expected)
    return {
      box,
      fence,
      expected,
      window,
      found: preflightForPlan(input, box, { expected, window, imageOf, rollback: rollbacks.get(box.slug) }),
    }
  })
  const phases = assignPhases(
    input.rolloutId,
    input.kind,
    examined.map(({ box, found }) => ({ ...box, updates: found.does === 'update' })),
  )
  const boxes = examined
    .map(({ box, ...examined }) => planBox({ input, imageOf }, box, { ...examined, phase: phases.get(box.slug) as Phase }))
    .toSorted(bySlug)
  const gates = gatesOf(input.kind, input.manifest)
  const watchMs = (input.bakeMs ?? 0) + gatesMs(gates)
  const planned = planPhases({ ...input, bakeMs: watchMs }, boxes, new Map(examined.map(({ box, window }) => [box.slug, window])))
  const findings = boxes.flatMap((box) => box.findings)
  return {
    kind: input.kind,
    madeAt: input.now,
    manifestRevision: input.manifestRevision,
    targets: input.manifest.tiers,
    targetSlugs: input.targetSlugs && [...input.targetSlugs],
    parallel: input.limits.parallel,
    ...(input.bakeMs === undefined ? {} : { bakeMs: input.bakeMs }),
    ...(gates.length > 0 ? { gates } : {}),
    phases: planned,
    boxes,
    images: imagesOf(boxes, imageOf),
    updates: boxes.filter(({ does }) => does === 'update').length,
    refusals: boxes.filter(({ does }) => does === 'refuse').length,
    warnings: findings.filter(({ severity }) => severity === 'warn').length,
    expectedMs: planned.reduce((sum, { expectedMs }) => sum + expectedMs, 0) + bakesMs(planned, watchMs),
  }
}

/** The dump and the load took this long in the rehearsal. */
function withUpgrade(expected: Expectation, rehearsal: KnownBox['rehearsal'] | undefined): Expectation {
  const { expectedMs, expectedFenceMs, worstFenceMs } = expected
  const takesMs = rehearsal?.downtimeMs ?? 0
  return { expectedMs: expectedMs + takesMs, expectedFenceMs: expectedFenceMs + takesMs, worstFenceMs: worstFenceMs + 2 * takesMs }
}

function fenceFor(input: PlanInput, box: KnownBox): FenceChoice {
  const to = input.manifest.tiers[box.tier]
  const requested = requestedFence(input.fenceMode ?? 'auto', input.fences, box.tier)
  const snapshot = requestedSnapshot(input.snapshotMode ?? 'auto', input.snapshots, box.tier)
  return chooseFence(box, { to, changes: changesBetween(box.installed, to), requested, snapshot }, input)
}

type Planning = Readonly<{ expected: Expectation; window: PlannedWindow; imageOf: ImageOf; rollback: PastRollback | undefined }>
type ImageOf = (image: string) => PlannedImage

/** A rollout of the whole fleet skips observed boxes; naming one in `targetSlugs` refuses it. */
function preflightForPlan(input: PlanInput, box: KnownBox, planning: Planning): Preflight {
  const upgrade = { image: targetImage(input.manifest, box.tier, 'postgres'), maxAgeMs: input.rehearsalMaxAgeMs }
  const preflight = preflightBox(box, input.manifest.tiers[box.tier], { ...input, upgrade })
  const found = withPlanFindings(input, preflight, { ...planning, box })
  if (box.managed || input.targetSlugs !== null || found.does === 'skip') return found
  const message = `${observedText(box.slug)}; a rollout skips it until then`
  return { ...found, does: 'skip', findings: [{ severity: 'warn', code: 'NOT_MANAGED', message }] }
}

/** Adds what only a plan checks: images, downtime, maintenance window, and earlier rollbacks. */
function withPlanFindings(
  input: PlanInput,
  found: Preflight,
  { box, expected, window, imageOf, rollback }: Planning & { box: KnownBox },
): Preflight {
  const { slug, tier } = box
  if (found.does === 'skip') return found
  const images = changedImages(input.manifest, tier, found.changes).map(([, image]) => imageOf(image))
  const findings = [
    ...found.findings,
    ...missingImageFindings(slug, images),
    ...digestFindings(slug, images),
    ...(found.changes.includes('postgres') ? rehearsalFindings(input, box, imageOf) : []),
    ...fenceFindings(slug, expected, input),
    ...window.findings,
    ...pastRollbackFindings({ slug, target: input.manifest.tiers[tier], changes: found.changes }, rollback),
  ]
  return { ...found, does: isRefused(findings) ? 'refuse' : 'update', findings }
}

function rehearsalFindings({ manifest }: PlanInput, box: KnownBox, imageOf: ImageOf): Finding[] {
  const image = targetImage(manifest, box.tier, 'postgres')
  return isUpgrade(box.installed, manifest.tiers[box.tier]) ? rehearsedDigestFindings(box, image, imageOf(image).digest) : []
}

const bySlug = (a: { tenantSlug: string }, b: { tenantSlug: string }) => (a.tenantSlug < b.tenantSlug ? -1 : 1)

function narrow({ boxes, targetSlugs }: PlanInput): readonly KnownBox[] {
  if (targetSlugs === null) return boxes
  const known = new Map(boxes.map((box) => [box.slug, box]))
  const unknown = targetSlugs.flatMap((slug, at) =>
    known.has(slug) ? [] : [{ path: `targetSlugs.${at}`, reason: `there is no box ${slug}` }],
  )
  if (unknown.length > 0)
    throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}. fix: list all boxes with \`tenantry boxes list\``, {
      details: unknown,
    })
  return [...new Set(targetSlugs)].map((slug) => known.get(slug) as KnownBox)
}

type Examined = Readonly<{ fence: FenceChoice; expected: Expectation; window: PlannedWindow; found: Preflight; phase: Phase }>

function planBox(
  { input, imageOf }: Readonly<{ input: PlanInput; imageOf: ImageOf }>,
  box: KnownBox,
  { fence, expected, window, found, phase }: Examined,
): PlannedBox {
  const { does, changes, findings } = found
  const images = changedImages(input.manifest, box.tier, changes).map(([service, image]) => [
    service,
    { image, digest: imageOf(image).digest },
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
    fenceMode: fence.mode,
    snapshotMode: fence.snapshot ?? 'before',
    ...(fence.snapshotReason === undefined ? {} : { snapshotReason: fence.snapshotReason }),
    ...(fence.reason === undefined ? {} : { fenceReason: fence.reason }),
    ...(fence.way === undefined ? {} : { upgrade: plannedUpgrade(fence.way, box) }),
    window: window.next,
  }
}

const plannedUpgrade = (way: 'dump-load', { databaseBytes, rehearsal }: KnownBox): PlannedBox['upgrade'] => ({
  ...{ way, databaseBytes, roomBytes: roomOf(databaseBytes) },
  ...{ rehearsedAt: rehearsal?.at ?? null, downtimeMs: rehearsal?.downtimeMs ?? null },
})

/** The image of every service whose version changes. */
export const changedImages = (manifest: Manifest, tier: Tier, changes: readonly Component[]): [VersionedService, string][] =>
  VersionedService.options.filter((service) => changes.includes(service)).map((service) => [service, targetImage(manifest, tier, service)])

/** Each phase begins when the one before it and its bake end, so later phases meet other windows. */
function planPhases(
  { kind, limits, now, bakeMs = 0 }: PlanInput,
  boxes: readonly PlannedBox[],
  windows: ReadonlyMap<string, PlannedWindow>,
) {
  let startMs = Date.parse(now)
  return phaseOrder[kind].map((phase): PlannedPhase => {
    const inPhase = boxes.filter((box) => box.phase === phase)
    const turns = inPhase
      .filter(({ does }) => does === 'update')
      .map(({ tenantSlug: slug, hostId, expectedMs }) => ({ slug, hostId, expectedMs, earliestMs: windows.get(slug)?.earliestMs }))
    const expectedMs = makespanMs(turns, limits, startMs)
    startMs += expectedMs > 0 ? expectedMs + bakeMs : 0
    return { phase, slugs: inPhase.map(({ tenantSlug }) => tenantSlug), expectedMs }
  })
}

/** The watching times between phases with updates, gates included; the last one has none. */
export const bakesMs = (phases: readonly Pick<PlannedPhase, 'expectedMs'>[], bakeMs = 0): number =>
  Math.max(0, phases.filter(({ expectedMs }) => expectedMs > 0).length - 1) * bakeMs
