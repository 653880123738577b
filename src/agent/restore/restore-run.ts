import { join } from 'node:path'
import {
  type BoxCommandPayload,
  type InstalledVersions,
  quarantineReason,
  type RestoreStep,
  type RestoreWorld,
  type SnapshotTaken,
} from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import type { DiskUse } from '../backup/index.ts'
import { readFence, rewriteImages, rewriteVolumes } from '../boxes/index.ts'
import { type Baseline, type DatabaseVolume, formerCompose, observeBox, type Run, resultOf, volumesOfTries } from '../change/index.ts'
import type { StreamPositions } from '../ports/index.ts'

/** A volume that the restore replaces: its key in the compose file, its name, and its replacement. */
export type DataVolume = Readonly<{ key: string; former: string; restored: string }>

type Images = Readonly<Record<string, Readonly<{ image: string; digest: string | null }>>>

/** The box before anything was touched, and what replaces it; recorded once, before the fence. */
export type Before = Readonly<{
  composeSha256: string
  images: Images
  installed: InstalledVersions
  database: DatabaseVolume
  /** Already filled: media and objects are fetched while the box serves. */
  data: readonly DataVolume[]
  /** The disk space reserved for the restore. */
  room?: readonly DiskUse[]
  snapshot: Readonly<{ images: Images; migrationsHead: string }>
  /** The ended command whose fence quarantines the box; null for an open box. */
  quarantinedBy: string | null
}>

/**
 * `preRestore` is null for a database that does not start or may be half loaded: its files are then in the store for manual recovery with restic,
 * the former volumes stay, and its stream positions are unknown.
 */
export type Kept = Readonly<{ preRestore: SnapshotTaken | null; streams: StreamPositions | 'unknown' }>

type Evidence = Readonly<{
  fetch?: Before
  keep?: Kept
  load?: Readonly<{ volume: string }>
  switch?: Readonly<{ edge: boolean; secrets: boolean; keptFiles: readonly string[] }>
  start?: Baseline
  'back-start'?: Baseline
}>

/** One restore in the hands of one agent. */
export type RestoreRun = Run<RestoreStep, BoxCommandPayload<'tenant-box.restore'>, Evidence>

/** Volumes of all tries to fetch media and objects, and to load the database; the present try's last. */
export const dataVolumes = (run: RestoreRun, former: string): string[] => volumesOfTries(run, 'fetch', former)
export const databaseVolumes = (run: RestoreRun, former: string): string[] => volumesOfTries(run, 'load', former)

/** The box's files as they are in the snapshot, and those that the restore replaces. */
export const snapshotFiles = ({ fetchFolder }: RestoreRun): string => join(fetchFolder, 'box')
export const formerFiles = ({ fetchFolder }: RestoreRun): string => join(fetchFolder, 'former')

export async function observeRestore(run: RestoreRun): Promise<RestoreWorld> {
  const { world, text } = await observeBox(run)
  const before = run.evidence().fetch
  const quarantined = (before ? before.quarantinedBy : await quarantinedBy(run)) !== null
  return { ...world, quarantined, compose: await composeState(run, text) }
}

async function composeState(run: RestoreRun, text: string): Promise<RestoreWorld['compose']> {
  const { fetch, load } = run.evidence()
  if (!fetch || sha256Hex(text) === fetch.composeSha256) return 'former'
  return load && text === (await restoredText(run).catch(() => undefined)) ? 'restored' : 'other'
}

/** The ended command that left the box in quarantine, if one did: its fence may be acquired. */
export async function quarantinedBy({ box, context, deps }: RestoreRun): Promise<string | null> {
  const holder = (await readFence(box.project))?.holder
  if (holder === undefined || holder === context.commandId) return null
  const ofBox = (await deps.journal.all()).filter(({ slug }) => slug === box.slug)
  return quarantineReason(holder, box, ofBox) ? holder : null
}

/** The compose file after the switch. Throws when nothing was loaded or the former file is gone. */
export async function restoredText(run: RestoreRun): Promise<string> {
  return withRestored(run, await formerCompose(run, resultOf(run, 'fetch').composeSha256), resultOf(run, 'load').volume)
}

/** The former compose file with the images of the snapshot and the new volumes. */
export function withRestored(run: RestoreRun, former: string, databaseVolume: string): string {
  const { data, database, snapshot } = resultOf(run, 'fetch')
  const images = Object.entries(snapshot.images).map(([service, { image }]) => [service, image])
  const volumes = [[database.key, databaseVolume], ...data.map(({ key, restored }) => [key, restored])]
  return rewriteVolumes(rewriteImages(former, Object.fromEntries(images)), Object.fromEntries(volumes))
}
