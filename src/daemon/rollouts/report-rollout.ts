import { pageOf } from '../../core/contract/index.ts'
import { isoNow, problem, spanMs } from '../../core/kit/index.ts'
import {
  type ActionStatus,
  type AttemptEvidence,
  type BoxRollbackSpan,
  buildTimeline,
  isInFlight,
  Phase,
  type PhaseBoxes,
  type RolloutReport,
  rollbackSpanOf,
  spreadOf,
  stepSpreads,
} from '../../core/rollouts/index.ts'
import { countActions, publicAction } from './actions.repo.ts'
import type { VerbDeps } from './deps.ts'
import { manifestStillAsking } from './manifest-still-asking.ts'
import {
  actionsByIds,
  auditOf,
  type BoxTimes,
  evidencePage,
  fencesOfAttempts,
  rollbackAttempts,
  stepsOfUpdates,
  timesOfBoxes,
} from './report.repo.ts'
import { rolloutById } from './rollouts.repo.ts'
import { summaryOf, waitsOf } from './show-rollout.ts'

type Deps = Pick<VerbDeps, 'db' | 'clock'>

const maxBoxes = 200

/** The report of a rollout, from its audit chain and the evidence of its attempts. Throws NOT_FOUND. */
export async function reportRollout({ db, clock }: Deps, { id }: { id: string }): Promise<RolloutReport> {
  const now = isoNow(clock)
  const stored = await rolloutById(db, id)
  const times = await timesOfBoxes(db, id)
  const { timeline, phases, pauses } = buildTimeline({ kind: stored.kind, lines: await auditOf(db, id), boxes: boxesByPhase(times), now })
  const shown = times.toSorted(byWeight).slice(0, maxBoxes)
  const boxes = await actionsByIds(
    db,
    shown.map((box) => box.id),
  )
  const counts = await countActions(db, [id])
  const waits = await waitsOf(db, [stored], counts)
  return {
    rollout: summaryOf(stored, counts(id), waits(id)),
    madeAt: now,
    durationMs: stored.startedAt === null ? null : spanMs(stored.startedAt, stored.finishedAt ?? now),
    pausedMs: pauses.reduce((total, { durationMs }) => total + durationMs, 0),
    fence: fenceOf(times, await fencesOfAttempts(db, id)),
    rollback: rollbackSpanOf({
      rolledBackAt: rolledBackAt(timeline) ?? stored.finishedAt,
      counts: counts(id).rollback,
      boxes: await rollbackSpans(db, id, times),
      now,
    }),
    stillAsked: await manifestStillAsking(db, id),
    gates: stored.gates,
    ...{ timeline, phases, pauses },
    steps: await stepsOf(db, id, times),
    boxes: boxes.map(publicAction),
    boxesTotal: times.length,
  }
}

/** A finished rollout may be rolled back later. */
const rolledBackAt = (timeline: RolloutReport['timeline']): string | undefined =>
  timeline.findLast(({ action }) => action === 'rollout.rolled_back')?.at

const failures: readonly ActionStatus[] = ['failed', 'rolled_back', 'rollback_failed']
/** A box that was rolled back with its rollout is not a failure; a failed rollback is. */
const hasFailed = ({ status, rollback }: BoxTimes) => rollback === 'failed' || (failures.includes(status) && rollback !== 'done')
const wasUpdated = ({ status, rollback }: BoxTimes) => status === 'succeeded' || rollback !== null

const weightOf = (box: BoxTimes) => (box.status === 'rollback_failed' ? 0 : hasFailed(box) ? 1 : isInFlight(box.status) ? 2 : 3)
const byWeight = (a: BoxTimes, b: BoxTimes) => weightOf(a) - weightOf(b) || (b.durationMs ?? 0) - (a.durationMs ?? 0)

const boxesByPhase = (times: readonly BoxTimes[]): PhaseBoxes[] =>
  Phase.options.map((phase) => {
    const own = times.filter((box) => box.phase === phase && box.status !== 'skipped')
    const succeeded = own.filter(wasUpdated).length
    return { phase, boxes: own.length, succeeded, failed: own.filter(hasFailed).length }
  })

/** Evidence is deleted after two years; then the last attempt of a box counts. */
function fenceOf(times: readonly BoxTimes[], ofAttempts: ReadonlyMap<string, number>): RolloutReport['fence'] {
  const fenced = times
    .map(({ id, slug, fencedMs, expectedFenceMs }) => ({ slug, ms: ofAttempts.get(id) ?? fencedMs ?? 0, expectedFenceMs }))
    .filter(({ ms }) => ms > 0)
  const spread = spreadOf(fenced)
  if (!spread) return null
  const expected = spreadOf(fenced.map(({ slug, expectedFenceMs: ms }) => ({ slug, ms })))
  return { ...spread, sumMs: fenced.reduce((total, { ms }) => total + ms, 0), expectedMedianMs: expected?.medianMs ?? 0 }
}

/** Without evidence the last attempt of a box counts, unless it serves as updated: its times are those of the update then. */
async function rollbackSpans(db: Deps['db'], id: string, times: readonly BoxTimes[]): Promise<BoxRollbackSpan[]> {
  const affected = times.filter(({ rollback }) => rollback !== null)
  if (affected.length === 0) return []
  const slugs = new Map(affected.map((box) => [box.id, box.slug]))
  const attempts = await rollbackAttempts(db, id)
  if (attempts.length > 0) return attempts.map(({ actionId, ...span }) => ({ ...span, slug: slugs.get(actionId) ?? actionId }))
  const rolledBack = affected.filter(({ status }) => status === 'rolled_back' || status === 'rollback_failed')
  return rolledBack.flatMap(({ slug, startedAt, finishedAt }) => (startedAt === null ? [] : [{ slug, startedAt, finishedAt }]))
}

async function stepsOf(db: Deps['db'], id: string, times: readonly BoxTimes[]) {
  const slugs = new Map(times.map((box) => [box.id, box.slug]))
  const attempts = await stepsOfUpdates(db, id)
  return stepSpreads(attempts.map(({ actionId, steps }) => ({ slug: slugs.get(actionId) ?? actionId, steps })))
}

type EvidenceQuery = Readonly<{ id: string; limit: number; cursor?: string | undefined }>

/** A page of the evidence of attempts. Throws NOT_FOUND, and VALIDATION for an invalid cursor. */
export async function listEvidence(
  { db }: Pick<Deps, 'db'>,
  { id, limit, cursor }: EvidenceQuery,
): Promise<{ evidence: AttemptEvidence[]; nextCursor: string | null }> {
  await rolloutById(db, id)
  const found = await evidencePage(db, id, { limit: limit + 1, after: cursor === undefined ? undefined : readCursor(id, cursor) })
  const { page, nextCursor } = pageOf(found, limit, ({ attempt, tenantSlug }) => `${attempt}_${tenantSlug}`)
  return { evidence: page, nextCursor }
}

function readCursor(id: string, cursor: string): { actionId: string; attempt: number } {
  const match = /^(\d{1,9})_(.+)$/.exec(cursor)
  if (!match)
    throw problem('VALIDATION', 'cursor: must be the nextCursor of the previous page', {
      details: [{ path: 'cursor', reason: 'must be the nextCursor of the previous page' }],
    })
  return { attempt: Number(match[1]), actionId: `${id}.${match[2]}` }
}
