import type { ArchivePart, SnapshotTier } from '../../core/boxes/index.ts'

/** Receives the reason of a wait, and undefined once it is over. */
export type OnWaiting = (reason: string | undefined) => void

/** Address and credentials of a tenant's repository. Kept in memory only. */
export type Repository = Readonly<{
  /** restic repository address, or `file:/folder`. */
  repository: string
  password: string
  /** Credentials of the store. */
  env: Readonly<Record<string, string>>
  /** A second password, for recovery. */
  recoveryPassword?: string | undefined
  /** Nothing was ever stored in it, so that an absent one may be created. */
  mayCreate?: boolean | undefined
  /** restic's id of it, where known. */
  repositoryId?: string | undefined
  /** Called when any use of it waits for the lock of another restic, unless the use has its own. */
  onWaiting?: OnWaiting | undefined
}>

export type SnapshotFacts = Readonly<{ id: string; addedBytes: number; files: number }>

/** A snapshot in a repository. Fields missing in its tags are null. */
export type StoredSnapshot = SnapshotFacts &
  Readonly<{
    takenAt: string
    /** Total size of its files; null when unknown. */
    totalBytes: number | null
    /** Disk size of the dumped database; null when unknown. */
    databaseBytes: number | null
    paths: readonly string[]
    tags: readonly string[]
    tier: SnapshotTier | null
    commandId: string | null
    slug: string | null
    /** Contains only media and objects of a running box; never restored. */
    warm: boolean
    /** Part of an archive; its box is by its slug. */
    archive: ArchivePart | null
  }>

/** The facts in the tags of a part of an archive. */
export type ArchiveTags = Omit<ArchivePart, 'snapshotId' | 'addedBytes'>
