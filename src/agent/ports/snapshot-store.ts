import type { SnapshotTier } from '../../core/boxes/index.ts'

/** Where a tenant's repository is, and what opens it. Memory only. */
export type Repository = Readonly<{
  repository: string
  password: string
  env: Readonly<Record<string, string>>
  /** What is to open it beside the password, for the day when that is lost. */
  recoveryPassword?: string | undefined
}>

export type SnapshotRequest = Readonly<{
  tier: SnapshotTier
  /** The command that asked for it; a snapshot is found again by it after a crash. */
  commandId: string
  slug: string
  paths: readonly string[]
  /** Files and folders below the paths that are left out. */
  exclude?: readonly string[]
  /** A warm snapshot (media and objects while the box serves) makes the one under the fence short. */
  warm?: boolean
}>

export type SnapshotFacts = Readonly<{ id: string; addedBytes: number; files: number }>

/** A snapshot as the repository knows it. What cannot be read from its tags is null: somebody else made it. */
export type StoredSnapshot = SnapshotFacts &
  Readonly<{
    takenAt: string
    paths: readonly string[]
    tags: readonly string[]
    tier: SnapshotTier | null
    commandId: string | null
    slug: string | null
    warm: boolean
  }>

/** Snapshots of one host: restic, or simulated. Problems: RESTIC_UNUSABLE, BACKUP_KEY_INVALID, SNAPSHOT_STORE_UNAVAILABLE, SNAPSHOT_FAILED, DISK_FULL. */
export type SnapshotStore = Readonly<{
  /** Version of the tool; throws RESTIC_UNUSABLE when missing or older than 0.17.1. */
  version(): Promise<string>
  /** Makes the repository if it does not exist; throws BACKUP_KEY_INVALID when the password does not open it. */
  prepare(repository: Repository): Promise<void>
  take(repository: Repository, request: SnapshotRequest, signal?: AbortSignal): Promise<SnapshotFacts>
  /** The complete (not warm) snapshot that a command took, if it did. */
  ofCommand(repository: Repository, commandId: string): Promise<SnapshotFacts | undefined>
  /** The snapshot with this id, if the repository has it. */
  find(repository: Repository, id: string): Promise<StoredSnapshot | undefined>
  /** Writes the snapshot's files of a path into an empty folder, with the path's own structure below it. */
  restore(repository: Repository, id: string, path: string, into: string, signal?: AbortSignal): Promise<void>
}>
