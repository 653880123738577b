import { rm } from 'node:fs/promises'
import { type AgentError, type RestoreFacts, type RestoreOutcome, type RestoreResult, restoreOutcome } from '../../core/boxes/index.ts'
import { clearDump } from '../backup/index.ts'
import { readCompose, reportVersions } from '../boxes/index.ts'
import { fencedMs, letImagesGo, patiently, probesOf, readComposeText } from '../guarded/index.ts'
import { dropLoadingFile } from './load.ts'
import { fetchFolder, type RestoreRun } from './restore-run.ts'
import { databaseVolumes, dataVolumes } from './restored-volumes.ts'

/** The result with all its evidence, from the journal and a last look at the box. */
export async function sumUp(run: RestoreRun, facts: RestoreFacts): Promise<RestoreResult> {
  const outcome = restoreOutcome(facts)
  return {
    outcome,
    snapshotId: run.payload.snapshotId,
    preRestore: run.evidence().keep?.preRestore ?? null,
    durationMs: run.elapsedMs(),
    fencedMs: fencedMs(run),
    probes: probesOf(run.entries()),
    report: await reportVersions(run.needs, run.box).catch(() => null),
    error: errorOf(facts, outcome),
  }
}

function errorOf(facts: RestoreFacts, outcome: RestoreOutcome): AgentError | null {
  if (outcome === 'restored') return null
  const why = facts.failure ?? { code: 'RESTORE_FAILED', message: 'the restore failed' }
  if (outcome === 'restore_failed' && facts.backError)
    return { code: facts.backError.code, message: `the way back failed: ${facts.backError.message}; it was taken because: ${why.message}` }
  if (!facts.begun.has('stop')) return { code: why.code, message: `${why.message}; nothing of the box was touched` }
  return outcome === 'failed' ? { code: why.code, message: `${why.message}; the box is as it was before` } : why
}

/**
 * What a restore leaves behind is cleared once it has ended well, or the box is proven as before. After a failed way back everything stays:
 * both sets of volumes, the fetched snapshot, the files that were replaced, the images. Failures here never change how it ended.
 */
export async function clearUp(run: RestoreRun, outcome: RestoreOutcome): Promise<void> {
  if (outcome === 'restore_failed') return
  const { needs, box } = run
  await quietly(dropLoadingFile(box))
  for (const volume of await uselessVolumes(run, outcome).catch(() => [])) await quietly(needs.engine.removeVolume(volume))
  await quietly(letImagesGo(run))
  await quietly(clearDump(needs, run.context.commandId))
  await quietly(rm(fetchFolder(run), { recursive: true, force: true }))
  if (outcome === 'restored') await takeOverHead(run)
}

/**
 * The box's own tables are those of the snapshot now. Ports, epoch and place stay what they are on this host. What is committed is never
 * told as failed because a record waits for room.
 */
async function takeOverHead(run: RestoreRun): Promise<void> {
  const { needs, box, evidence } = run
  const migrationsHead = evidence().fetch?.snapshot.migrationsHead ?? box.migrationsHead
  if (migrationsHead === box.migrationsHead) return
  await patiently(run, `the record of ${box.slug} cannot be written`, () => needs.boxes.put({ ...box, migrationsHead }))
}

async function uselessVolumes(run: RestoreRun, outcome: RestoreOutcome): Promise<string[]> {
  const { fetch, keep, load } = run.evidence()
  if (!fetch) return halfFetched(run)
  const { database, data } = fetch
  const made = [...databaseVolumes(run, database.volume), ...data.flatMap(({ former }) => dataVolumes(run, former))]
  if (outcome !== 'restored') return made
  // What is in no snapshot that can be restored stays where it is.
  const former = keep?.preRestore ? [database.volume, ...data.map(({ former }) => former)] : []
  const serving = [load?.volume, ...data.map(({ restored }) => restored)]
  return [...former, ...made.filter((volume) => !serving.includes(volume))]
}

/** A fetch that failed wrote nothing down; what it may have made is known by the names in the compose file, which has not changed. */
async function halfFetched(run: RestoreRun): Promise<string[]> {
  const text = await readComposeText(run.box).catch(() => undefined)
  const volumes = text === undefined ? {} : readCompose(text, run.box.project.name).volumes
  return Object.values(volumes).flatMap((volume) => dataVolumes(run, volume))
}

const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)
