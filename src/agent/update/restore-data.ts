import { mkdir, rm } from 'node:fs/promises'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { readWholeDump } from '../backup/index.ts'
import { switchToRestored } from './compose-switch.ts'
import type { SnapshotEvidence } from './evidence.ts'
import { waitForDatabase } from './start-services.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/**
 * Loads the dump into a new volume, with only PostgreSQL running and the former volume untouched. Each try has a volume of its own:
 * one that a kill left half-filled is never loaded into again. Under the unbroken fence media and objects are a superset and stay.
 */
export async function restoreData(run: UpdateRun): Promise<void> {
  const { needs, box, signal } = run
  const snapshot = run.evidence().snapshot
  if (!snapshot) throw problem('RESTORE_FAILED', `the update of ${box.slug} has no snapshot to restore`)
  const folder = await dumpToLoad(run, snapshot)
  const volume = restoredVolumes(run).at(-1) as string
  await switchToRestored(run, volume)
  await needs.engine.up(box.project, ['postgres'], signal)
  await needMounted(run, volume)
  await waitForDatabase(run)
  await needs.inside.loadDatabase(box, folder, snapshot.counts, signal)
}

/** Volumes of all tries of this update, named after it; the last is the present try's. */
export function restoredVolumes(run: UpdateRun): string[] {
  const { volume } = beforeOf(run).database
  const tries = run.entries().filter(({ step, mark }) => step === 'restore-data' && mark === 'intent').length
  const attempt = sha256Hex(run.context.commandId).slice(0, 8)
  return Array.from({ length: tries }, (_, index) => `${volume.replace(/-r[0-9a-f]{8}-[0-9]+$/, '')}-r${attempt}-${index + 1}`)
}

// Loading into the former volume would destroy the only copy of what the update did.
async function needMounted({ needs, box }: UpdateRun, volume: string): Promise<void> {
  const database = (await needs.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (!database?.volumes.includes(volume))
    throw problem(
      'RESTORE_FAILED',
      `the database of ${box.slug} did not get the volume ${volume} but ${database?.volumes.join(', ') || 'none'}`,
    )
}

/** The dump on this host, which needs nobody else; the one in the store when that is damaged. */
async function dumpToLoad(run: UpdateRun, { snapshotId, manifestSha256 }: SnapshotEvidence): Promise<string> {
  const isTheOne = async (folder: string) => (await readWholeDump(folder).catch(() => undefined))?.sha256 === manifestSha256
  if (await isTheOne(run.dumpFolder)) return run.dumpFolder
  const folder = `${run.dumpFolder}.restored`
  if (await isTheOne(folder)) return folder
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await run.needs.snapshots.restore(await run.repository(), snapshotId, run.dumpFolder, folder, run.signal)
  if (await isTheOne(folder)) return folder
  throw problem('RESTORE_FAILED', `the dump in the snapshot ${snapshotId} is not the one that was taken`)
}
