import type { ArchivePart, SnapshotTier } from '../../core/boxes/index.ts'
import type { SnapshotStatus, SnapshotTask } from '../../core/snapshots/index.ts'

/** A repository belongs to a tenant, so a snapshot's id is unique within one. */
export type SnapshotTable = {
  tenant_id: string
  snapshot_id: string
  box_id: string
  slug: string
  tier: SnapshotTier
  taken_at: string
  command_id: string | null
  /** SHA-256 of its manifest. */
  sha256: string | null
  added_bytes: number | null
  files: number | null
  duration_ms: number | null
  installed: string | null
  status: SnapshotStatus
  /** The kind of check that found the damage; only the same kind can revert it. */
  damaged_by: 'check' | 'drill' | null
  /** Time of registration; a snapshot registered after a listing began cannot be missing from it. */
  recorded_at: string
}

export type SnapshotDrillTable = {
  command_id: string
  tenant_id: string
  snapshot_id: string
  at: string
  ok: number
  duration_ms: number | null
  restore_ms: number | null
  error: string | null
  /** JSON of `DrilledMedia`. */
  media: string | null
}

/** `unheard` = the daemon no longer waits, but the agent may still report the result. */
export type BoxRestoreStatus = 'open' | 'unheard' | 'restored' | 'failed' | 'restore_failed'

type BoxRestoreTable = {
  command_id: string
  tenant_id: string
  box_id: string
  slug: string
  snapshot_id: string
  reason: string
  status: BoxRestoreStatus
  asked_at: string
  ended_at: string | null
  duration_ms: number | null
}

/** The row is also the lock of a repository, for retention and restores. */
type SnapshotRepositoryTable = {
  tenant_id: string
  tended_at: string | null
  pruned_at: string | null
  checked_at: string | null
  data_checked_at: string | null
  /** Commands reported snapshots to a database that is lost: it was restored from a backup of the first time, at the second one. */
  unrecorded_from: string | null
  unrecorded_until: string | null
  /** restic's id of it, from its first use; null until then, and after its snapshots were abandoned. */
  repository_id: string | null
  /** Since when it is gone, and where: the id of the host, or `bucket`. */
  lost_at: string | null
  lost_place: string | null
}

/** Queued tasks, which wait until box and host are free. */
export type SnapshotTaskTable = { tenant_id: string; task: SnapshotTask; asked_at: string; until: string }

/** A warm copy of media and objects that an update took while its box was online; deleted after two days. */
type WarmCopyTable = { tenant_id: string; snapshot_id: string; taken_at: string }

/** A part of an archive. A repository belongs to a tenant, so a snapshot's id is unique within one. */
export type ArchivePartTable = {
  tenant_id: string
  snapshot_id: string
  box_id: string
  kind: ArchivePart['kind']
  line: string
  from_lsn: string
  to_lsn: string
  at: string
  data: string | null
  added_bytes: number
}

/** `covered_until`: the store has all that the box committed until then. */
export type ArchiveStateTable = {
  box_id: string
  tenant_id: string
  line: string | null
  covered_until: string | null
  reported_at: string
  /** JSON. */
  error: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    archive_parts: ArchivePartTable
    archive_states: ArchiveStateTable
    snapshots: SnapshotTable
    snapshot_drills: SnapshotDrillTable
    box_restores: BoxRestoreTable
    snapshot_repositories: SnapshotRepositoryTable
    snapshot_tasks: SnapshotTaskTable
    snapshot_warm_copies: WarmCopyTable
  }
}
