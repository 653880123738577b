import type { SnapshotTier } from '../../core/boxes/index.ts'
import type { ArchiveTags, OnWaiting, Repository, RepositoryMaintenance, SnapshotFacts, StoredSnapshot } from '../../node/restic/index.ts'

export type { OnWaiting, Repository, SnapshotFacts, StoredSnapshot }

export type SnapshotRequest = Readonly<{
  tier: SnapshotTier
  /** Requesting command; identifies the snapshot after a crash. */
  commandId: string
  slug: string
  paths: readonly string[]
  /** Disk size of the database whose dump is included; a restore needs that much space. */
  databaseBytes?: number
  /** Excluded files and folders below the paths. */
  exclude?: readonly string[]
  /** The box keeps writing during the snapshot, so vanished files lead to one retry. */
  live?: boolean
  /**
   * One of its files, with its checksum: read back from the store once the snapshot is taken. Until this resolves the files may be incomplete:
   * the store opens meanwhile and reads none of them. If it rejects, no snapshot is taken.
   */
  sample?: Promise<Readonly<{ path: string; sha256: string }>>
  /** A warm snapshot (media and objects of a running box) shortens the later one under the fence. */
  warm?: boolean
  onWaiting?: OnWaiting | undefined
  /** Its files may be of another host: it never counts as this host's own. */
  foreign?: boolean
}>

/** One part of the archive of a box that serves. */
export type ArchivePartRequest = Readonly<{
  slug: string
  /** The files of a base have none: what its log is, is known after them. */
  tags: ArchiveTags | 'files of a base'
  paths: readonly string[]
  /** Left out with all that they contain. */
  exclude: readonly string[]
  /** Folders that are stored empty. */
  emptied?: readonly string[]
  /** The part before, whose unchanged files need not be read; the files of a base are always read. */
  parent?: string | undefined
}>

/** Snapshots of one host: restic, or simulated. Problems: RESTIC_UNUSABLE, BACKUP_KEY_INVALID, SNAPSHOT_STORE_LOST, SNAPSHOT_STORE_UNAVAILABLE, SNAPSHOT_FAILED, DISK_FULL. */
export type SnapshotStore = RepositoryMaintenance &
  Readonly<{
    /** Version of the tool; throws RESTIC_UNUSABLE when missing or older than 0.17.1. */
    version(): Promise<string>
    /**
     * Opens the repository, and creates its recovery slot if missing. Creates the repository only where it `mayCreate`. Throws
     * SNAPSHOT_STORE_LOST for one that is gone or another one, BACKUP_KEY_INVALID for a wrong password.
     */
    prepare(repository: Repository): Promise<Readonly<{ repositoryId: string }>>
    /** Takes a snapshot and, unless it is warm, verifies it in the store. One that is not whole is deleted and throws SNAPSHOT_FAILED. */
    take(repository: Repository, request: SnapshotRequest, signal?: AbortSignal): Promise<SnapshotFacts>
    /**
     * Takes a part of an archive; files may vanish meanwhile. A base is verified in the store, the log by the checks of the repository: it is
     * stored every minute. Throws SNAPSHOT_FAILED.
     */
    takePart(repository: Repository, request: ArchivePartRequest, signal?: AbortSignal): Promise<SnapshotFacts>
    /** The full (not warm) snapshot of a command, if any. */
    ofCommand(repository: Repository, commandId: string): Promise<SnapshotFacts | undefined>
    /** True for a full id that this host took itself: other hosts may be compromised, so files of their snapshots are not put in place. */
    isOwn(slug: string, id: string): Promise<boolean>
    /** The snapshot with this id, if the repository has it. Throws SNAPSHOT_STORE_LOST when it is another repository. */
    find(repository: Repository, id: string): Promise<StoredSnapshot | undefined>
    /** Restores the files of one path into an empty folder. They are flushed to disk when it resolves. */
    restore(repository: Repository, input: Readonly<{ id: string; path: string; into: string }>, signal?: AbortSignal): Promise<void>
  }>
