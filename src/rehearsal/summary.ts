import { elapsedMs } from '../core/kit/index.ts'
import {
  bakesMs,
  type Gate,
  isOver,
  limitsOf,
  makespanMs,
  type Parallelism,
  type PlannedBox,
  type Rehearsal,
  type RehearsalRequest,
  type RehearsalSettings,
  type RehearsedBox,
  type RehearsedPause,
  type RolloutAction,
  type RolloutDetail,
  type RolloutPlan,
} from '../core/rollouts/index.ts'

/** The result of one run. */
export type Played = Readonly<{
  rollout: RolloutDetail
  gates: readonly Gate[]
  pauses: readonly RehearsedPause[]
  endMs: number
  startIso: string
}>

/** Details come from the first run; downtimes and the total duration also as quantiles over all runs. */
export function summarize(
  { request, startIso, settings }: Readonly<{ request: RehearsalRequest; startIso: string; settings: RehearsalSettings }>,
  played: readonly Played[],
): Rehearsal {
  const [first] = played as [Played]
  const { plan, actions, status } = first.rollout
  const since = (iso: string | null) => (iso === null ? null : elapsedMs(startIso, iso))
  const planned = new Map(plan.boxes.map((box) => [box.tenantSlug, box]))
  const fences = fencesOf(played)
  const boxes = actions.map((action) =>
    boxOf({ action, box: planned.get(action.tenantSlug) as PlannedBox }, since, fences.get(action.tenantSlug) ?? []),
  )
  return {
    seed: request.seed,
    runs: played.length,
    startedAt: startIso,
    manifestRevision: plan.manifestRevision,
    ended: isOver(status) ? 'done' : 'stuck',
    updates: plan.updates,
    refused: plan.refusals,
    skipped: plan.boxes.filter(({ does }) => does === 'skip').length,
    makespanMs: quantile(
      played.map(({ rollout }) => lastEndMs(rollout, startIso)),
      0.5,
    ) as number,
    worstMs: maxDurationMs(plan, limitsOf(settings.rollouts, request)),
    phases: plan.phases.map(({ phase }) => phaseOf(phase, boxes)),
    boxes,
    pauses: [...first.pauses],
    gates: [...first.gates],
    findings: plan.boxes.flatMap(({ tenantSlug, findings }) => findings.map((finding) => ({ ...finding, tenantSlug }))),
  }
}

function boxOf(
  { action, box }: Readonly<{ action: RolloutAction; box: PlannedBox }>,
  since: (iso: string | null) => number | null,
  fences: readonly number[],
): RehearsedBox {
  return {
    tenantSlug: action.tenantSlug,
    hostName: box.hostName ?? box.hostId,
    phase: action.phase,
    status: action.status,
    beginsMs: since(action.startedAt),
    endsMs: since(action.finishedAt),
    fenceMs: action.fencedMs,
    fenceP50Ms: quantile(fences, 0.5),
    fenceP95Ms: quantile(fences, 0.95),
    expectedFenceMs: box.expectedFenceMs,
    worstFenceMs: box.worstFenceMs,
    error: action.error,
    waits: action.status === 'pending' ? (action.progress?.detail ?? null) : null,
  }
}

function fencesOf(played: readonly Played[]): ReadonlyMap<string, number[]> {
  const fences = new Map<string, number[]>()
  for (const { rollout } of played)
    for (const { tenantSlug, fencedMs } of rollout.actions)
      if (fencedMs !== null) fences.set(tenantSlug, [...(fences.get(tenantSlug) ?? []), fencedMs])
  return fences
}

const lastEndMs = ({ actions }: RolloutDetail, startIso: string): number =>
  Math.max(0, ...actions.flatMap(({ finishedAt }) => (finishedAt === null ? [] : [elapsedMs(startIso, finishedAt)])))

/** The smallest value that at least this share of all values does not exceed. */
function quantile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null
}

function phaseOf(phase: RehearsedBox['phase'], all: readonly RehearsedBox[]): Rehearsal['phases'][number] {
  const boxes = all.filter((box) => box.phase === phase && box.beginsMs !== null)
  if (boxes.length === 0) return { phase, boxes: 0, beginsMs: null, endsMs: null }
  return {
    phase,
    boxes: boxes.length,
    beginsMs: Math.min(...boxes.map(({ beginsMs }) => beginsMs as number)),
    endsMs: Math.max(...boxes.map(({ endsMs, beginsMs }) => endsMs ?? (beginsMs as number))),
  }
}

/** The upper bound: every box takes its maximum downtime, rollback included. */
function maxDurationMs({ boxes, phases, bakeMs }: RolloutPlan, limits: Parallelism): number {
  const slots = (phase: PlannedBox['phase']) =>
    boxes
      .filter((box) => box.phase === phase && box.does === 'update')
      .map(({ tenantSlug, hostId, expectedMs, expectedFenceMs, worstFenceMs }) => {
        return { slug: tenantSlug, hostId, expectedMs: expectedMs - expectedFenceMs + worstFenceMs }
      })
  return phases.reduce((sum, { phase }) => sum + makespanMs(slots(phase), limits), bakesMs(phases, bakeMs))
}
