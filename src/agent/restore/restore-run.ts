import { join } from 'node:path'
import type { BoxCommandPayload, InstalledVersions, RestoreStep, SnapshotTaken } from '../../core/boxes/index.ts'
import type { Part } from '../backup/index.ts'
import { type Baseline, type DatabaseVolume, type Run, volumesOfTries } from '../change/index.ts'
import type { StreamPositions } from '../ports/index.ts'

/** A volume that the restore replaces: its key in the compose file, what it is, and what takes its place. */
export type DataVolume = Readonly<{ key: string; former: string; restored: string }>

type Images = Readonly<Record<string, Readonly<{ image: string; digest: string | null }>>>

/** The box before anything was touched, and what is to come into its place; written once, before the fence. */
export type Before = Readonly<{
  composeSha256: string
  images: Images
  installed: InstalledVersions
  database: DatabaseVolume
  /** Filled already: media and objects are brought while the box serves. */
  data: readonly DataVolume[]
  /** What it may still write to this host's disks; absent in what earlier agents wrote down. */
  room?: readonly Part[]
  /** What the snapshot says of the box that it is of. */
  snapshot: Readonly<{ images: Images; migrationsHead: string }>
  /** The ended command whose fence the box rests under; null for one that is open. */
  restedUnder: string | null
}>

/**
 * `preRestore` is null for a database that does not come up, or may be half of one: then its files are in the store, for a person with restic, the former volumes
 * stay for good, and nobody knows how far its streams came.
 */
export type Kept = Readonly<{ preRestore: SnapshotTaken | null; streams: StreamPositions | 'unknown' }>

type Evidence = Readonly<{
  fetch?: Before
  keep?: Kept
  load?: Readonly<{ volume: string }>
  switch?: Readonly<{ edge: boolean; secrets: boolean }>
  start?: Baseline
  'back-start'?: Baseline
}>

/** One restore in the hands of one agent. */
export type RestoreRun = Run<RestoreStep, BoxCommandPayload<'tenant-box.restore'>, Evidence>

/** Of all tries to bring media and objects, and to load the database; the present one's last. */
export const dataVolumes = (run: RestoreRun, former: string): string[] => volumesOfTries(run, 'fetch', former)
export const databaseVolumes = (run: RestoreRun, former: string): string[] => volumesOfTries(run, 'load', former)

/** The box's files as they are in the snapshot, and those that the restore replaces. */
export const snapshotFiles = ({ fetchFolder }: RestoreRun): string => join(fetchFolder, 'box')
export const keptFiles = ({ fetchFolder }: RestoreRun): string => join(fetchFolder, 'former')
