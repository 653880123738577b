import type { BoxMigration, InstalledVersions, VersionedService } from '../../core/boxes/index.ts'
import type { Part } from '../backup/index.ts'
import type { Baseline, DatabaseVolume } from '../change/index.ts'
import type { RowCounts } from '../ports/index.ts'

/** A container as it was before the update touched anything. */
type FormerContainer = Readonly<{ id: string; image: string; digest: string | null }>

/** The box before, and what is to change; written once, before the fence. */
export type Before = Readonly<{
  containers: Readonly<Record<string, FormerContainer>>
  /** Services whose image changes. */
  planned: readonly VersionedService[]
  composeSha256: string
  targetSha256: string
  database: DatabaseVolume
  /** Absent in what earlier agents wrote down. */
  installed?: InstalledVersions
  /** What brings the box's own tables to the wanted head; absent in what earlier agents wrote down. */
  migrations?: readonly BoxMigration[]
  /** What it may still write to this host's disks; absent in what earlier agents wrote down. */
  room?: readonly Part[]
}>

/** `takenAt` is absent in what earlier agents wrote down. */
export type SnapshotEvidence = Readonly<{ snapshotId: string; manifestSha256: string; takenAt?: string; counts: RowCounts }>

/** Absent in what earlier agents wrote down: then it is the volume of the last try. */
export type RestoredData = Readonly<{ volume: string; from: 'cold-copy' | 'dump'; tookMs: number }>

/** What steps left in the journal for later ones, for a resumed update and for the result. */
export type Evidence = Readonly<{
  prefetch?: Before
  snapshot?: SnapshotEvidence
  'cold-copy'?: Readonly<{ copiedMs?: number; skipped?: string }>
  rewrite?: Readonly<{ backup: string }>
  recreate?: Baseline
  serve?: Baseline
  'restore-data'?: RestoredData
  'restore-start'?: Baseline
}>
