import type { Selectable } from 'kysely'
import type { Tier, VersionedService } from '../../core/boxes/index.ts'
import type { CommandStep, RolloutAction } from '../../core/rollouts/index.ts'
import type { RolloutActionTable } from './rollouts.tables.ts'

/** An action with the fields that only the engine needs. */
export type StoredAction = Readonly<
  RolloutAction & {
    tier: Tier
    step: CommandStep | null
    commandId: string | null
    images: Partial<Record<VersionedService, string>>
    expectedMs: number
    overdueAt: string | null
  }
>

export type ActionRow = Selectable<RolloutActionTable>

/** Derived from its parts: one action per rollout and tenant. */
export const actionId = (rolloutId: string, slug: string): string => `${rolloutId}.${slug}`

/** The fields of an action before its next attempt. */
export const untried = {
  step: null,
  commandId: null,
  images: {},
  snapshotOk: null,
  updateOk: null,
  healthOk: null,
  rolledBack: false,
  snapshotId: null,
  progress: null,
  waitsUntil: null,
  startedAt: null,
  overdueAt: null,
  finishedAt: null,
  durationMs: null,
  fencedMs: null,
  error: null,
} as const satisfies Partial<StoredAction>

const flag = (value: number | null): boolean | null => (value === null ? null : value === 1)
const bit = (value: boolean | null): number | null => (value === null ? null : value ? 1 : 0)
export const parseJson = (text: string | null) => (text === null ? null : JSON.parse(text))
const jsonOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

/** The rollback of an action; null while none was ordered. */
export const rollbackOf = (row: Pick<ActionRow, 'rollback_mode' | 'rollback_status' | 'rollback_error'>): StoredAction['rollback'] =>
  row.rollback_mode && row.rollback_status && { mode: row.rollback_mode, status: row.rollback_status, error: parseJson(row.rollback_error) }

export const actionOf = (row: ActionRow): StoredAction => ({
  id: row.id,
  rolloutId: row.rollout_id,
  tenantSlug: row.slug,
  boxId: row.box_id,
  hostId: row.host_id,
  tier: row.tier,
  phase: row.phase,
  status: row.status,
  waived: row.waived === 1,
  rollback: rollbackOf(row),
  attempt: row.attempt,
  step: row.step,
  commandId: row.command_id,
  images: JSON.parse(row.images),
  snapshotOk: flag(row.snapshot_ok),
  updateOk: flag(row.update_ok),
  healthOk: flag(row.health_ok),
  rolledBack: row.rolled_back === 1,
  snapshotId: row.snapshot_id,
  from: JSON.parse(row.from_versions),
  to: JSON.parse(row.to_versions),
  findings: JSON.parse(row.findings),
  progress: parseJson(row.progress),
  expectedMs: Number(row.expected_ms),
  expectedFenceMs: Number(row.expected_fence_ms),
  waitsUntil: row.waits_until,
  startedAt: row.started_at,
  overdueAt: row.overdue_at,
  finishedAt: row.finished_at,
  durationMs: row.duration_ms === null ? null : Number(row.duration_ms),
  fencedMs: row.fenced_ms === null ? null : Number(row.fenced_ms),
  fenceMode: row.fence_mode,
  error: parseJson(row.error),
})

type ActionColumns = Partial<ActionRow>

/** Maps each field to its columns. */
const columnsOf: { readonly [Field in keyof StoredAction]: (value: StoredAction[Field]) => ActionColumns } = {
  id: (id) => ({ id }),
  rolloutId: (rollout_id) => ({ rollout_id }),
  tenantSlug: (slug) => ({ slug }),
  boxId: (box_id) => ({ box_id }),
  hostId: (host_id) => ({ host_id }),
  tier: (tier) => ({ tier }),
  phase: (phase) => ({ phase }),
  status: (status) => ({ status }),
  waived: (waived) => ({ waived: waived ? 1 : 0 }),
  rollback: (rollback) => ({
    rollback_mode: rollback?.mode ?? null,
    rollback_status: rollback?.status ?? null,
    rollback_error: jsonOf(rollback?.error ?? null),
  }),
  attempt: (attempt) => ({ attempt }),
  step: (step) => ({ step }),
  commandId: (command_id) => ({ command_id }),
  images: (images) => ({ images: JSON.stringify(images) }),
  snapshotOk: (ok) => ({ snapshot_ok: bit(ok) }),
  updateOk: (ok) => ({ update_ok: bit(ok) }),
  healthOk: (ok) => ({ health_ok: bit(ok) }),
  rolledBack: (rolledBack) => ({ rolled_back: rolledBack ? 1 : 0 }),
  snapshotId: (snapshot_id) => ({ snapshot_id }),
  from: (from) => ({ from_versions: JSON.stringify(from) }),
  to: (to) => ({ to_versions: JSON.stringify(to) }),
  findings: (findings) => ({ findings: JSON.stringify(findings) }),
  progress: (progress) => ({ progress: jsonOf(progress) }),
  expectedMs: (ms) => ({ expected_ms: Math.round(ms) }),
  expectedFenceMs: (ms) => ({ expected_fence_ms: Math.round(ms) }),
  waitsUntil: (waits_until) => ({ waits_until }),
  startedAt: (started_at) => ({ started_at }),
  overdueAt: (overdue_at) => ({ overdue_at }),
  finishedAt: (finished_at) => ({ finished_at }),
  durationMs: (ms) => ({ duration_ms: ms === null ? null : Math.round(ms) }),
  fencedMs: (ms) => ({ fenced_ms: ms === null ? null : Math.round(ms) }),
  fenceMode: (fence_mode) => ({ fence_mode }),
  error: (error) => ({ error: jsonOf(error) }),
}

/** The columns that changed since `before`; all of them for an action that is not stored yet. */
export function columnsFor(action: StoredAction, before?: StoredAction): ActionColumns {
  const columns: ActionColumns = {}
  for (const field of fields) if (action[field] !== before?.[field]) Object.assign(columns, columnsOf[field](action[field] as never))
  return columns
}

const fields = Object.keys(columnsOf) as readonly (keyof StoredAction)[]
