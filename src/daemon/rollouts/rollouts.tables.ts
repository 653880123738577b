import type {
  ActionRollback,
  ActionStatus,
  CommandStep,
  FenceMode,
  Phase,
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
  /** The manifest itself: what a rollout does may not change when revisions do. */
  manifest: string
  /** Of an emergency, the versions that it was about; null in staged rollouts, and in those from before it was kept. */
  fixes: string | null
  /** Image reference to the digest that its registry told the plan, or that the first pull found. */
  digests: string
  target_slugs: string | null
  failure_threshold: number
  skip_refused: number
  hold_after: Phase | null
  fence_mode: FenceMode
  ignore_windows: number
  idempotency_key: string | null
  idempotency_sum: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
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
  /** How far the way back is that was asked for with the whole rollout; null without one. */
  undo_mode: RollbackMode | null
  undo_status: ActionRollback['status'] | null
  undo_error: string | null
  attempt: number
  /** Which command is under way, and which of the three it is; null while nothing is. */
  step: CommandStep | null
  command_id: string | null
  /** Service to image, as decided when the box was looked at. */
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
  /** When its maintenance window opens that it waits for. */
  waits_until: string | null
  started_at: string | null
  /** Since when an update that an agent has in hand is waited for in vain. */
  overdue_at: string | null
  finished_at: string | null
  duration_ms: number | null
  fenced_ms: number | null
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
  /** Background updates of the chat server that were under way; null where nobody said. */
  background_before: string | null
  digests_before: string
  digests_after: string
  probes: string
  compose_backup: string | null
  restored: string | null
  steps: string
  duration_ms: number | null
  fenced_ms: number | null
  report: string | null
  error: string | null
}

/** Wrong approval tokens of an account, and until when it has to wait. */
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
