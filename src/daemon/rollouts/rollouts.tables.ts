import type { FenceMode } from '../../core/boxes/index.ts'
import type {
  ActionRollback,
  ActionStatus,
  CommandStep,
  Phase,
  RequestedFence,
  RequestedSnapshot,
  RollbackMode,
  RolloutAttempt,
  RolloutKind,
  RolloutStatus,
} from '../../core/rollouts/index.ts'

export type RolloutTable = {
  id: string
  kind: RolloutKind
  status: RolloutStatus
  previous_status: RolloutStatus | null
  pause_reason: string | null
  error: string | null
  reason: string | null
  cve_id: string | null
  triggered_by: string | null
  created_by: string
  manifest_revision: number
  /** A copy of the manifest: later revisions do not change the rollout. */
  manifest: string
  /** The versions of an emergency; null in staged rollouts, and in emergencies from before the column existed. */
  fixes: string | null
  /** Image reference to its digest, as resolved for the plan or by the first pull. */
  digests: string
  target_slugs: string | null
  failure_threshold: number
  skip_refused: number
  hold_after: Phase | null
  /** Null: the setting of the daemon. */
  parallel: number | null
  bake_ms: number | null
  /** The end of the bake of the current phase; null outside a bake. */
  bake_until: string | null
  /** JSON: the gates with the answers in this phase; null in rollouts from before there were any. */
  gates: string | null
  fence_mode: RequestedFence
  snapshot_mode: RequestedSnapshot
  ignore_windows: number
  /** Ids of the rollouts that it was queued behind at its start; null without any. */
  queued_behind: string | null
  idempotency_key: string | null
  idempotency_sum: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
  /** The trace in which it was created. */
  trace: string | null
}

type RolloutPlanTable = { rollout_id: string; plan: string }

export type RolloutActionTable = {
  id: string
  rollout_id: string
  slug: string
  box_id: string
  host_id: string
  tier: 'free' | 'pro' | 'enterprise'
  phase: Phase
  status: ActionStatus
  waived: number
  /** The rollback of the box; null without one. */
  rollback_mode: RollbackMode | null
  rollback_status: ActionRollback['status'] | null
  rollback_error: string | null
  attempt: number
  /** The command in flight and its step; null without one. */
  step: CommandStep | null
  command_id: string | null
  /** Service to image, as decided by the preflight. */
  images: string
  snapshot_ok: number | null
  update_ok: number | null
  health_ok: number | null
  rolled_back: number
  snapshot_id: string | null
  from_versions: string
  to_versions: string
  findings: string
  progress: string | null
  expected_ms: number
  expected_fence_ms: number
  /** When the maintenance window opens that it waits for. */
  waits_until: string | null
  started_at: string | null
  /** When an update that an agent took became overdue. */
  overdue_at: string | null
  finished_at: string | null
  duration_ms: number | null
  fenced_ms: number | null
  /** As planned, then as the agent applied it; null for a box that is not updated. */
  fence_mode: FenceMode | null
  error: string | null
}

export type RolloutAttemptTable = {
  action_id: string
  attempt: number
  kind: RolloutAttempt['kind']
  rollout_id: string
  status: ActionStatus
  started_at: string
  finished_at: string | null
  snapshot_id: string | null
  snapshot_sha256: string | null
  images_before: string
  /** Background updates of the chat server before the update; null where unknown. */
  background_before: string | null
  digests_before: string
  digests_after: string
  probes: string
  compose_backup: string | null
  restored: string | null
  /** The parts of the downtime; null where the agent did not report them. */
  downtime: string | null
  /** JSON: the last lines of the services that failed. */
  logs: string | null
  steps: string
  duration_ms: number | null
  fenced_ms: number | null
  report: string | null
  error: string | null
}

/** Wrong approval tokens of an account, and the end of its lock. */
type ApprovalFailureTable = { account_id: string; failures: number; forget_at: string; locked_until: string | null }

declare module '../db/database.ts' {
  interface Tables {
    approval_failures: ApprovalFailureTable
    rollouts: RolloutTable
    rollout_plans: RolloutPlanTable
    rollout_actions: RolloutActionTable
    rollout_attempts: RolloutAttemptTable
  }
}
