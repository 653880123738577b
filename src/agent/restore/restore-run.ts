import { join } from 'node:path'
import {
  type BoxCommandPayload,
  foldRestore,
  type InstalledVersions,
  type RestoreStep,
  type SnapshotTaken,
} from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Baseline, eventsOf, evidenceOf, type Run, startGuardedRun } from '../guarded/index.ts'
import type { CommandRecord } from '../journal/index.ts'
import type { CommandContext, LocalBox, StreamPositions } from '../ports/index.ts'
import type { RestoreNeeds } from './needs.ts'

export type RestorePayload = BoxCommandPayload<'tenant-box.restore'>

/** A volume that the restore replaces: its key in the compose file, what it is, and what takes its place. */
export type DataVolume = Readonly<{ key: string; former: string; restored: string }>

export type Images = Readonly<Record<string, Readonly<{ image: string; digest: string | null }>>>

/** The box before anything was touched, and what is to come into its place; written once, before the fence. */
export type Before = Readonly<{
  composeSha256: string
  images: Images
  installed: InstalledVersions
  database: Readonly<{ key: string; volume: string }>
  /** Filled already: media and objects are brought while the box serves. */
  data: readonly DataVolume[]
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
export type RestoreRun = Run<RestoreStep, RestorePayload, RestoreNeeds, Evidence>

type Start = Readonly<{ needs: RestoreNeeds; context: CommandContext; payload: RestorePayload; box: LocalBox; record: CommandRecord }>

export const startRun = (start: Start): RestoreRun =>
  startGuardedRun(start, {
    facts: (entries) => foldRestore(eventsOf(entries)),
    evidence: (entries) => evidenceOf(entries) as Evidence,
    holdsBox: ['fence'],
  })

/** What a step left that must have been done. */
export function leftBy<Step extends keyof Evidence>(run: RestoreRun, step: Step): NonNullable<Evidence[Step]> {
  const left = run.evidence()[step]
  if (left === undefined) throw problem('INTERNAL', `the restore ${run.context.commandId} has no record of its step ${step}`)
  return left as NonNullable<Evidence[Step]>
}

/** Where the snapshot is brought to, and the files that it replaces are kept; the sweep knows it by the command's name. */
export const fetchFolder = ({ dumpFolder }: RestoreRun): string => `${dumpFolder}.restored`

/** The box's files as they are in the snapshot, and those that the restore replaces. */
export const snapshotFiles = (run: RestoreRun): string => join(fetchFolder(run), 'box')
export const keptFiles = (run: RestoreRun): string => join(fetchFolder(run), 'former')
