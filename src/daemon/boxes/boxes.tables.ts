import type { ImportState, MoveState, RemovalState, ReportedHealth, Severity } from '../../core/boxes/index.ts'

export type BoxTable = {
  id: string
  tenant_id: string
  host_id: string
  slug: string
  /** 1 after the first successful set-up. */
  live: number
  managed: number
  canary: number
  fenced: number
  /** Rises with each change of hosts; reports with a lower epoch are ignored. */
  ownership_epoch: number
  public_url: string
  internal_url: string | null
  /** The first of three ports; null for an adopted box. */
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
  /** The health that the last report showed, and since when; null before the first report. */
  health: ReportedHealth['state'] | null
  health_why: string | null
  health_since: string | null
  /** Since when it is down or degraded, whichever of them; null while it is neither. */
  failing_since: string | null
  drift_report: string | null
  drift_severity: Severity
  drift_revision: number
  last_drift_check_at: string | null
  created_at: string
  /** Set in maintenance; the command that enters or leaves it. */
  maintenance_by: string | null
  maintenance_reason: string | null
  maintenance_since: string | null
  maintenance_command: string | null
  /** From the last report; all null without a fence. */
  fence_holder: string | null
  fence_since: string | null
  /** Set once per overdue fence. */
  fence_overdue_at: string | null
  /** `removed` = stopped, with its data; `erased` = no data is left. */
  removal: 'removed' | 'erased' | null
}

/** `id` is `box/name`; sealed values are bound to it. */
type BoxSecretTable = { id: string; box_id: string; name: string; sealed: string; updated_at: string }

type BoxHoldTable = { box_id: string; holder: string; until: string }

/** One row per box and day. */
type BoxSizeTable = {
  box_id: string
  day: string
  database_bytes: number | null
  media_bytes: number | null
  object_bytes: number | null
}

export type ManifestTable = { revision: number; content: string; applied_at: string; applied_by: string }

declare module '../db/database.ts' {
  interface Tables {
    boxes: BoxTable
    box_secrets: BoxSecretTable
    box_holds: BoxHoldTable
    box_sizes: BoxSizeTable
    manifests: ManifestTable
  }
}

/** The columns that moves and removals share. */
export type ProcedureColumns<State extends string> = {
  id: string
  box_id: string
  state: State
  epoch: number
  reason: string
  asked_by: string
  /** Number of commands so created; part of their ids. */
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
  /** 1 if that host may have a copy (containers and volumes); its ports are reserved then. */
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
  remarks: string | null
}

export type BoxImportTable = {
  id: string
  box_id: string
  host_id: string
  state: ImportState
  reason: string
  asked_by: string
  folder: string
  project: string
  dropped: string
  facts: string | null
  written: string | null
  imported_at: string | null
  command_id: string | null
  error: string | null
  started_at: string
  changed_at: string
  finished_at: string | null
}

type UpgradeRehearsalTable = { box_id: string; tenant_id: string; command_id: string; at: string; ok: number; result: string }

declare module '../db/database.ts' {
  interface Tables {
    upgrade_rehearsals: UpgradeRehearsalTable
    box_imports: BoxImportTable
    box_moves: BoxMoveTable
    box_removals: BoxRemovalTable
  }
}
