import { readFile } from 'node:fs/promises'
import {
  type BoxCommandPayload,
  type BoxMigration,
  hasColdCopy,
  type ImageRollback,
  type InstalledVersions,
  snapshotModeOf,
  type UpdateStep,
  type UpdateWorld,
  type UpgradeFacts,
  type UpgradeTimes,
  type VersionedService,
} from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import type { DiskUse, VolumeKeys } from '../backup/index.ts'
import { remembered, rewriteImages, rewriteVolumes } from '../boxes/index.ts'
import {
  type Baseline,
  composeBackup,
  type DatabaseVolume,
  formerCompose,
  observeBox,
  presentCompose,
  type Run,
  replaceCompose,
  restoreCompose,
  resultOf,
  volumeOfTry,
  volumesOfTries,
} from '../change/index.ts'
import type { Environment } from '../dump-load/index.ts'
import type { RowCounts, StreamPositions } from '../ports/index.ts'

/** One update in the hands of one agent. */
export type UpdateRun = Run<UpdateStep, BoxCommandPayload<'tenant-box.update'>, Evidence>

/** The running database that is to be loaded into another major version. `inside`: the data folder in its volume. */
export type UpgradeSource = Readonly<{ facts: UpgradeFacts; inside: string; environment: Environment }>

/** A container before the update. */
type FormerContainer = Readonly<{ id: string; image: string; digest: string | null }>

/** The box before the update, and what is to change; recorded once, before the fence. */
export type Before = Readonly<{
  containers: Readonly<Record<string, FormerContainer>>
  /** Services whose image changes. */
  planned: readonly VersionedService[]
  composeSha256: string
  targetSha256: string
  database: DatabaseVolume
  installed?: InstalledVersions
  /** Box migrations up to the target head. */
  migrations?: readonly BoxMigration[]
  /** Unfinished background updates of the former chat server; absent or null where unknown. */
  background?: readonly string[] | null
  databaseBytes?: number
  volumeKeys?: VolumeKeys
  systemId?: string
  /** Only of an update to another major version of PostgreSQL. */
  upgrade?: UpgradeSource
  /** Why the database cannot be copied while it serves, where that was ordered. */
  notHot?: string
  /** The disk space reserved for the update. */
  room?: readonly DiskUse[]
}>

export type SnapshotEvidence = Readonly<{
  snapshotId: string
  manifestSha256: string
  takenAt: string
  counts: RowCounts
  /** The slow probes of the closed box were good meanwhile. */
  isStable?: true
  /** The cold copy that was made meanwhile. */
  copy?: ColdCopy
}>

/** The copy that was made while the box served; recovery begins at `fromLsn`. `segment`: the first of the log that it does not have whole. */
export type HotBase = Readonly<{ bytes: number; tookMs: number; fromLsn: string; segment: string; segmentBytes: number }>
/** Or why there is none. */
export type HotCopy = HotBase | Readonly<{ skipped: string }>

/**
 * How long the copy took, or why there is none. `at`: the moment of its data, for a snapshot that is stored from it. `endLsn`: it is a hot copy, and
 * its recovery ends with this shutdown checkpoint, and its streams are at these `positions`.
 */
export type ColdCopy = Readonly<{
  copiedMs?: number
  skipped?: string
  at?: string
  endLsn?: string
  positions?: StreamPositions
}>

/**
 * `data`: the copy is of no use, and the former version takes the database as the new one left it. `former-volume`: the new version had another
 * volume, so the former one is as it was.
 */
export type RestoredData = Readonly<{ volume: string; from: 'cold-copy' | 'dump' | 'data' | 'former-volume'; tookMs: number }>

/** The volume that the new major version of PostgreSQL runs on, and the durations of its parts. */
export type LoadedDatabase = Readonly<{ volume: string; times: UpgradeTimes; rows: number }>

/** Results that steps record in the journal for later steps, a resumed update and the result. */
type Evidence = Readonly<{
  prefetch?: Before
  'hot-copy'?: HotCopy
  snapshot?: SnapshotEvidence
  'cold-copy'?: ColdCopy
  upgrade?: LoadedDatabase
  rewrite?: Readonly<{ backup: string }>
  recreate?: Baseline
  serve?: Baseline
  'quick-probe'?: QuickProof
  'check-rollback'?: ImageRollback
  'confirm-rollback'?: ImageRollback
  'restore-data'?: RestoredData
  'restore-start'?: Baseline
}>

export const beforeOf = (run: UpdateRun): Before => resultOf(run, 'prefetch')

/** The snapshot of this update. One that was taken before the box was stopped again does not count. */
export const storedSnapshot = (run: UpdateRun): SnapshotEvidence | undefined =>
  run.facts().done.has('snapshot') ? run.evidence().snapshot : undefined

/** Volumes of all tries to restore the database of this update; the last is the present try's. */
export const restoredVolumes = (run: UpdateRun): string[] => volumesOfTries(run, 'restore-data', beforeOf(run).database.volume)

/** The cold copy is in the volume of the first try, so that a restore from it has nothing to load. */
export const coldVolume = (run: UpdateRun, former = beforeOf(run).database.volume): string => volumeOfTry(run, former, 1)

/** The volume of another major version of PostgreSQL. */
export const nextVolume = (run: Pick<UpdateRun, 'context'>, former: string): string => volumeOfTry(run, former, 0)

/** The folder of what belongs to the cold copy: its mark, the box's files of that moment, and the compose file of the server that dumps it. */
export const copiedFolder = ({ dumpFolder }: Pick<UpdateRun, 'dumpFolder'>): string => `${dumpFolder}.copied`

/** The daemon ordered that the snapshot is stored from a hot copy. */
export const isHot = ({ payload: { fence } }: UpdateRun): boolean => snapshotModeOf(fence) === 'hot'

/** Another major version of PostgreSQL is ordered. */
export const isUpgrade = ({ payload: { fence } }: UpdateRun): boolean => fence.upgrade !== undefined
export const notUpgraded = ({ box }: UpdateRun, why: string): string => `PostgreSQL of ${box.slug} is not upgraded: ${why}`

/** The snapshot is stored from the completed hot copy. */
export const storesFromCopy = (run: UpdateRun): boolean => isHot(run) && hasColdCopy(run.facts())

export async function observeUpdate(run: UpdateRun): Promise<UpdateWorld> {
  const { world, serving, text } = await observeBox(run)
  return { ...world, serving, compose: composeState(run, text) }
}

/** The text is hashed before each step, and there are only two texts. */
const sumOf = remembered(4, sha256Hex)

function composeState(run: UpdateRun, text: string): UpdateWorld['compose'] {
  const before = run.evidence().prefetch
  const sum = sumOf(text)
  if (!before || sum === before.composeSha256) return 'former'
  return sum === before.targetSha256 ? 'target' : 'other'
}

/** The compose file of the update's target: only the tags of changed services differ, and the volume of another major version of PostgreSQL. */
export function targetText(run: UpdateRun, former: string, { planned, database }: Pick<Before, 'planned' | 'database'>): string {
  const targets = Object.entries(run.payload.targets.services).filter(([service]) => (planned as readonly string[]).includes(service))
  const text = rewriteImages(former, Object.fromEntries(targets.map(([service, { image }]) => [service, image])))
  return isUpgrade(run) ? rewriteVolumes(text, { [database.key]: nextVolume(run, database.volume) }) : text
}

/** Stores the former compose file beside it and replaces it by one rename. Idempotent; returns the backup's path. */
export async function switchToTarget(run: UpdateRun): Promise<string> {
  const { composeSha256 } = beforeOf(run)
  const backup = await composeBackup(run, composeSha256)
  await replaceCompose(run, targetText(run, await readFile(backup, 'utf8'), beforeOf(run)))
  return backup
}

/** Restores the former compose file byte for byte, if it was replaced. Without a backup only our own target is replaced. */
export async function switchBack(run: UpdateRun): Promise<void> {
  const { composeSha256, targetSha256 } = beforeOf(run)
  if (await restoreCompose(run, composeSha256)) return
  if (sumOf(await presentCompose(run.box)) === targetSha256) await replaceCompose(run, await formerText(run))
}

/** A target without a backup becomes the former file again, because only images and a volume differ. Throws RESTORE_FAILED. */
export const formerText = (run: UpdateRun): Promise<string> => {
  const { composeSha256, targetSha256, planned, containers, database } = beforeOf(run)
  const withVolume = (text: string) => (isUpgrade(run) ? rewriteVolumes(text, { [database.key]: database.volume }) : text)
  const images = planned.flatMap((service) => (containers[service] ? [[service, containers[service].image]] : []))
  return formerCompose(run, composeSha256, (text) =>
    sumOf(text) === targetSha256 ? withVolume(rewriteImages(text, Object.fromEntries(images))) : text,
  )
}

/** The former images over another database volume, by one rename. */
export async function switchToRestored(run: UpdateRun, volume: string): Promise<void> {
  const { database } = beforeOf(run)
  await replaceCompose(run, rewriteVolumes(await formerText(run), { [database.key]: volume }))
}

/** The rollback is evaluated beside the last quick probe, because users wait for each query. */
export type QuickProof = Readonly<{ rollback?: ImageRollback }>
