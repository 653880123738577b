import { mkdir, rm } from 'node:fs/promises'
import { maxRestoreFailures } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import { readVerifiedDump } from '../backup/index.ts'
import { replaceCompose, startDatabaseOn } from '../change/index.ts'
import { evaluateNow } from './check-rollback.ts'
import { dropColdCopy, forgetColdCopy, takeColdCopy } from './cold-copy.ts'
import { assertRecovered } from './hot-copy.ts'
import {
  beforeOf,
  coldVolume,
  formerText,
  isUpgrade,
  nextVolume,
  type RestoredData,
  restoredVolumes,
  type SnapshotEvidence,
  storedSnapshot,
  switchBack,
  switchToRestored,
  type UpdateRun,
} from './update-run.ts'

/**
 * Restores the former database into another volume, with only PostgreSQL running. The first try uses the cold copy if it is complete, each other
 * one loads the dump into a volume of its own. Before a snapshot of a hot copy is stored there is only the copy: each try uses it. A volume that a
 * kill left half-filled, or that a server has run on, is never used again. Media and objects stay: under the unbroken fence they are a superset.
 */
export async function restoreData(run: UpdateRun): Promise<RestoredData> {
  const begun = run.deps.clock.monotonicMs()
  const restored = isUpgrade(run) ? await takeFormerVolume(run) : await restoreFormer(run).catch((error: Error) => keepData(run, error))
  const tookMs = run.deps.clock.monotonicMs() - begun
  run.context.progress({ step: 'restore-data', detail: `${restoredWords[restored.from]} in ${duration(tookMs)}` })
  return { ...restored, tookMs }
}

const restoredWords = {
  'cold-copy': 'database restored from the cold copy',
  dump: 'database restored from the dump',
  data: 'the copy is of no use; the former version takes the database as it is',
  'former-volume': 'the former version has its own volume again',
} as const satisfies Record<RestoredData['from'], string>

type Restored = Omit<RestoredData, 'tookMs'>

/** The new major version of PostgreSQL never had the former volume: the former compose file is all that is needed. */
async function takeFormerVolume(run: UpdateRun): Promise<Restored> {
  const { volume } = beforeOf(run).database
  await replaceCompose(run, await formerText(run))
  await startDatabaseOn(run, volume, [nextVolume(run, volume)])
  return { volume, from: 'former-volume' }
}

/**
 * Without a snapshot, and with a copy that is lost or never recovers: the database as the new version left it, where the former version reads
 * it. Nothing is lost, because no user was on it. Throws the failure of the restore.
 */
async function keepData(run: UpdateRun, failure: Error): Promise<Restored> {
  run.signal.throwIfAborted()
  const failures = (run.facts().failures['restore-data'] ?? 0) + 1
  if (storedSnapshot(run) || failures < maxRestoreFailures || run.payload.fence.formerSchema === undefined) throw failure
  const { volume } = beforeOf(run).database
  try {
    await switchBack(run)
    // The copy stays: without it nothing could be decided by hand.
    await startDatabaseOn(run, volume, [])
    if ((await evaluateNow(run)).possible) return { volume, from: 'data' }
  } catch {
    run.signal.throwIfAborted()
  }
  throw failure
}

async function restoreFormer(run: UpdateRun): Promise<Restored> {
  const { deps, box, signal } = run
  const snapshot = storedSnapshot(run)
  const copied = await takeColdCopy(run)
  if (!snapshot && !copied) throw problem('RESTORE_FAILED', `the update of ${box.slug} has no snapshot to restore`)
  const volume = copied ? coldVolume(run) : (restoredVolumes(run).at(-1) as string)
  if (volume === coldVolume(run) && !copied) await dropColdCopy(run)
  const folder = copied || !snapshot ? undefined : await dumpToLoad(run, snapshot)
  if (snapshot) await forgetColdCopy(run)
  await switchToRestored(run, volume)
  await startDatabaseOn(run, volume, restoredVolumes(run))
  if (copied) await assertRecovered(run, { code: 'RESTORE_FAILED', database: box })
  if (!snapshot || folder === undefined) await deps.servers.finishDatabaseLoad(box, snapshot?.counts, signal)
  else await deps.servers.loadDatabase(box, { folder, expected: snapshot.counts }, signal)
  return { volume, from: copied ? 'cold-copy' : 'dump' }
}

/** The dump on this host if it is intact, else the one in the store. Throws RESTORE_FAILED. */
async function dumpToLoad(run: UpdateRun, { snapshotId, manifestSha256 }: SnapshotEvidence): Promise<string> {
  const isIntact = async (folder: string) => (await readVerifiedDump(folder).catch(() => undefined))?.sha256 === manifestSha256
  if (await isIntact(run.dumpFolder)) return run.dumpFolder
  const folder = run.fetchFolder
  if (await isIntact(folder)) return folder
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await run.deps.snapshots.restore(await run.repository(), { id: snapshotId, path: run.dumpFolder, into: folder }, run.signal)
  if (await isIntact(folder)) return folder
  throw problem('RESTORE_FAILED', `the dump in the snapshot ${snapshotId} does not match its manifest`)
}
