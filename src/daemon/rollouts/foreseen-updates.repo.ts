import { tierOf } from '../../core/boxes/index.ts'
import { isOver, type Phase, type RolloutKind, type RolloutStatus } from '../../core/rollouts/index.ts'
import type { ZonedWindow } from '../../core/wall-clock/index.ts'
import { type WindowRules, windowInForce } from '../../core/windows/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { ownWindowOf } from '../tenants/index.ts'
import { keepsWindows } from './engine/engine-actions.repo.ts'
import { openRollbacks, rolloutsInPhase, unfinishedAmong } from './open-rollouts.repo.ts'
import { rolloutById } from './rollouts.repo.ts'

// For the announcement of updates: which boxes still wait, and how an update stands.

export type RunningRollout = Readonly<{
  id: string
  kind: RolloutKind
  status: RolloutStatus
  bakeMs: number | null
  bakeUntil: string | null
  holdAfter: Phase | null
  keepsWindows: boolean
}>

/** Rollouts that are in a phase, and wait for no other one. */
export async function runningRollouts(db: DbOrTx): Promise<RunningRollout[]> {
  const running: RunningRollout[] = []
  for (const rolloutId of await rolloutsInPhase(db)) {
    const { id, kind, status, bakeMs, bakeUntil, holdAfter, ignoreWindows, queuedBehind } = await rolloutById(db, rolloutId)
    if ((await unfinishedAmong(db, queuedBehind)).size > 0) continue
    running.push({ id, kind, status, bakeMs, bakeUntil, holdAfter, keepsWindows: keepsWindows({ kind, ignoreWindows }) })
  }
  return running
}

/** An update of a box that has not begun. */
export type UpdateToCome = Readonly<{
  actionId: string
  boxId: string
  tenantId: string
  phase: Phase
  /** Null: at any time. */
  window: ZonedWindow | null
  expectedMs: number
  expectedFenceMs: number
}>

type Of = Readonly<{ rollout: Pick<RunningRollout, 'id' | 'keepsWindows'>; windows: WindowRules }>

/** Boxes of active tenants that the rollout has not begun. */
export async function updatesToCome(db: DbOrTx, { rollout, windows }: Of): Promise<UpdateToCome[]> {
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('tenants as tenant', 'tenant.slug', 'action.slug')
    .select(['action.id', 'action.box_id', 'action.phase', 'action.expected_ms', 'action.expected_fence_ms'])
    .select(['tenant.id as tenant_id', 'tenant.plan', 'tenant.time_zone', 'tenant.maintenance_window'])
    .where('action.rollout_id', '=', rollout.id)
    .where('action.status', '=', 'pending')
    .where('tenant.status', '=', 'active')
    .orderBy('action.slug')
    .execute()
  return rows.map((row) => ({
    ...{ actionId: row.id, boxId: row.box_id, tenantId: row.tenant_id, phase: row.phase },
    window: rollout.keepsWindows ? windowInForce(windows, tierOf(row.plan), ownWindowOf(row)) : null,
    expectedMs: Number(row.expected_ms),
    expectedFenceMs: Number(row.expected_fence_ms),
  }))
}

/** The downtime of the last successful update of a box; undefined without one. */
export async function lastDowntimeMs(db: DbOrTx, boxId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('rollout_actions')
    .select('fenced_ms')
    .where('box_id', '=', boxId)
    .where('status', '=', 'succeeded')
    .where('fenced_ms', 'is not', null)
    .orderBy('finished_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.fenced_ms == null ? undefined : Number(row.fenced_ms)
}

/** How these updates stand, by action. */
export async function standOfUpdates(db: DbOrTx, actionIds: readonly string[]) {
  if (actionIds.length === 0) return []
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .select(['action.id', 'action.status', 'action.waived', 'action.rollback_status', 'action.fenced_ms', 'action.finished_at'])
    .select(['rollout.id as rollout_id', 'rollout.status as rollout_status'])
    .where('action.id', 'in', actionIds)
    .execute()
  return rows.map((row) => ({
    ...{
      actionId: row.id,
      rolloutId: row.rollout_id,
      status: row.status,
      waived: row.waived === 1,
      isTakenBack: row.rollback_status !== null,
    },
    isOver: isOver(row.rollout_status),
    fencedMs: row.fenced_ms === null ? null : Number(row.fenced_ms),
    finishedAt: row.finished_at,
  }))
}

/** Actions whose boxes are being taken back, or are about to be. */
export async function updatesTakenBack(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('rollout_actions').select('id').where('rollback_status', 'in', openRollbacks).execute()
  return rows.map(({ id }) => id)
}
