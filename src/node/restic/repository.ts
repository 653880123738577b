import type { SnapshotTier } from '../../core/boxes/index.ts'

/** Where a tenant's repository is, and what opens it. Memory only. */
export type Repository = Readonly<{
  /** As restic names it, or `file:/folder`. */
  repository: string
  password: string
  /** Credentials of the store. */
  env: Readonly<Record<string, string>>
  /** What is to open it beside the password, for the day when that is lost. */
  recoveryPassword?: string | undefined
}>

export type SnapshotFacts = Readonly<{ id: string; addedBytes: number; files: number }>

/** A snapshot as the repository knows it. What cannot be read from its tags is null: somebody else made it. */
export type StoredSnapshot = SnapshotFacts &
  Readonly<{
    takenAt: string
    /** Of all that it holds, as files; null where whoever made it did not say. */
    totalBytes: number | null
    /** Of the database that its dump is of, on disk; null where nobody said. */
    databaseBytes: number | null
    paths: readonly string[]
    tags: readonly string[]
    tier: SnapshotTier | null
    commandId: string | null
    slug: string | null
    /** Taken of media and objects alone while the box served; never one to go back to. */
    warm: boolean
  }>
