import type { SnapshotTier } from '../../core/boxes/index.ts'
import type { Repository, RepositoryCare, SnapshotFacts, StoredSnapshot } from '../../node/restic/index.ts'

export type { Repository, SnapshotFacts, StoredSnapshot }

export type SnapshotRequest = Readonly<{
  tier: SnapshotTier
  /** The command that asked for it; a snapshot is found again by it after a crash. */
  commandId: string
  slug: string
  paths: readonly string[]
  /** On disk, of the database that is among them as a dump: whoever brings it back elsewhere needs that much room for it. */
  databaseBytes?: number
  /** Files and folders below the paths that are left out. */
  exclude?: readonly string[]
  /** The box goes on writing meanwhile: what vanished while it was read is read once more, before that is a failure. */
  live?: boolean
  /** A warm snapshot (media and objects while the box serves) makes the one under the fence short. */
  warm?: boolean
}>

/** Snapshots of one host: restic, or simulated. Problems: RESTIC_UNUSABLE, BACKUP_KEY_INVALID, SNAPSHOT_STORE_UNAVAILABLE, SNAPSHOT_FAILED, DISK_FULL. */
export type SnapshotStore = RepositoryCare &
  Readonly<{
    /** Version of the tool; throws RESTIC_UNUSABLE when missing or older than 0.17.1. */
    version(): Promise<string>
    /** Makes the repository if it does not exist, and gives it the recovery slot that it lacks; throws BACKUP_KEY_INVALID when the password does not open it. */
    prepare(repository: Repository): Promise<void>
    /** A snapshot from which something is missing is none: it is SNAPSHOT_FAILED, and nobody finds it. */
    take(repository: Repository, request: SnapshotRequest, signal?: AbortSignal): Promise<SnapshotFacts>
    /** The complete (not warm) snapshot that a command took, if it did. */
    ofCommand(repository: Repository, commandId: string): Promise<SnapshotFacts | undefined>
    /** The snapshot with this id, if the repository has it. */
    find(repository: Repository, id: string): Promise<StoredSnapshot | undefined>
    /** Writes the snapshot's files of a path into an empty folder, with the path's own structure below it; on disk when it resolves. */
    restore(repository: Repository, id: string, path: string, into: string, signal?: AbortSignal): Promise<void>
  }>
