import type { MoveState, RemovalState, Severity } from '../../core/boxes/index.ts'

export type BoxTable = {
  id: string
  tenant_id: string
  host_id: string
  slug: string
  /** From the first good set-up on. */
  live: number
  managed: number
  canary: number
  fenced: number
  /** Rises when the box gets another owner; what a host says under a lower one is not believed. */
  ownership_epoch: number
  public_url: string
  internal_url: string | null
  /** The first of three; null for a box that was adopted. */
  first_port: number | null
  folder: string | null
  project: string | null
  findings: string
  set_up_command: string
  set_up_attempt: number
  installed_migrations_head: string
  installed_postgres: string
  installed_synapse: string
  installed_minio: string
  database_bytes: number | null
  last_report: string | null
  reported_at: string | null
  last_probe: string | null
  drift_report: string | null
  drift_severity: Severity
  drift_revision: number
  last_drift_check_at: string | null
  created_at: string
  /** People work on it, or are about to; the command that closed or is to open it. */
  maintenance_by: string | null
  maintenance_reason: string | null
  maintenance_since: string | null
  maintenance_command: string | null
  /** As last reported; all null while it is open. */
  fence_holder: string | null
  fence_since: string | null
  /** Set once per fence that stood for too long. */
  fence_overdue_at: string | null
  /** `removed` = stopped, its data kept; `erased` = nothing of it is left. */
  removal: 'removed' | 'erased' | null
}

/** `id` is box and name in one: sealed values are bound to it. */
type BoxSecretTable = { id: string; box_id: string; name: string; sealed: string; updated_at: string }

type BoxHoldTable = { box_id: string; holder: string; until: string }

export type ManifestTable = { revision: number; content: string; applied_at: string; applied_by: string }

declare module '../db/database.ts' {
  interface Tables {
    boxes: BoxTable
    box_secrets: BoxSecretTable
    box_holds: BoxHoldTable
    manifests: ManifestTable
  }
}

/** What is written down of every way of a box. */
export type ProcedureColumns<State extends string> = {
  id: string
  box_id: string
  state: State
  epoch: number
  reason: string
  asked_by: string
  /** How many commands were given: each has its own id. */
  orders: number
  command_id: string | null
  error: string | null
  started_at: string
  changed_at: string
  keep_until: string | null
  finished_at: string | null
}

export type BoxMoveTable = ProcedureColumns<MoveState> & {
  from_host_id: string
  to_host_id: string
  from_first_port: number | null
  to_first_port: number
  /** Whether that host may have containers and volumes of the box that are not the box itself; its ports are taken then. */
  from_copy: number
  to_copy: number
  old_host_dead: number
  snapshot_id: string | null
  snapshot_sha256: string | null
  snapshot_at: string | null
}

export type BoxRemovalTable = ProcedureColumns<RemovalState> & {
  host_id: string
  snapshot_id: string | null
  erase_now: number
}

declare module '../db/database.ts' {
  interface Tables {
    box_moves: BoxMoveTable
    box_removals: BoxRemovalTable
  }
}
