import { rm } from 'node:fs/promises'
import { type AgentError, isTouched, outcomeOf, type UpdateFacts, type UpdateOutcome, type UpdateResult } from '../../core/boxes/index.ts'
import { clearDump } from '../backup/index.ts'
import { reportVersions } from '../boxes/index.ts'
import { fencedMs, letImagesGo, patiently, probesOf } from '../guarded/index.ts'
import { dropColdCopy } from './cold-copy.ts'
import { restoredVolumes } from './restored-volumes.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/** The result with all its evidence, from the journal and a last look at the box. */
export async function sumUp(run: UpdateRun, facts: UpdateFacts): Promise<UpdateResult> {
  const outcome = outcomeOf(facts)
  const { prefetch, snapshot, rewrite } = run.evidence()
  const report = await reportVersions(run.needs, run.box).catch(() => null)
  return {
    outcome,
    snapshotOk: facts.done.has('snapshot'),
    updateOk: outcome === 'committed',
    healthOk: outcome === 'committed',
    rolledBack: outcome === 'rolled_back',
    snapshotId: snapshot?.snapshotId ?? null,
    snapshotSha256: snapshot?.manifestSha256 ?? null,
    durationMs: run.elapsedMs(),
    fencedMs: fencedMs(run),
    digestsBefore: digests(prefetch?.containers),
    digestsAfter: digests(report?.services),
    probes: probesOf(run.entries()),
    composeBackup: rewrite?.backup ?? null,
    report,
    error: errorOf(facts, outcome),
  }
}

const digests = (services: Readonly<Record<string, { digest: string | null } | undefined>> = {}): Record<string, string | null> =>
  Object.fromEntries(Object.entries(services).map(([service, facts]) => [service, facts?.digest ?? null]))

function errorOf(facts: UpdateFacts, outcome: UpdateOutcome): AgentError | null {
  if (outcome === 'committed') return null
  const why = facts.failure ?? { code: 'UPDATE_FAILED', message: 'the update failed' }
  if (outcome === 'rollback_failed' && facts.backError)
    return { code: facts.backError.code, message: `the way back failed: ${facts.backError.message}; it was taken because: ${why.message}` }
  if (!isTouched(facts)) return { code: why.code, message: `${why.message}; no container was replaced and no data was touched` }
  return why
}

/**
 * What an update leaves behind is cleared once it has ended well or nothing was touched. After a failed way back everything stays: both
 * volumes, the dump, the images. Failures here never change how the update ended.
 */
export async function clearUp(run: UpdateRun, outcome: UpdateOutcome): Promise<void> {
  if (outcome === 'rollback_failed') return
  const { needs } = run
  await quietly(letImagesGo(run))
  if (outcome !== 'rolled_back' && run.evidence().prefetch) await quietly(dropColdCopy(run))
  await quietly(clearDump(needs, run.context.commandId))
  await quietly(rm(`${run.dumpFolder}.restored`, { recursive: true, force: true }))
  if (outcome === 'committed') await takeOverHead(run)
  if (outcome !== 'rolled_back') return
  const tries = restoredVolumes(run)
  const kept = run.evidence()['restore-data']?.volume ?? tries.at(-1)
  for (const volume of [beforeOf(run).database.volume, ...tries]) if (volume !== kept) await quietly(needs.engine.removeVolume(volume))
}

/** What is committed is never told as failed because a record waits for room. */
async function takeOverHead(run: UpdateRun): Promise<void> {
  const { needs, box, payload } = run
  const { migrationsHead } = payload.targets
  if (migrationsHead === box.migrationsHead) return
  await patiently(run, `the record of ${box.slug} cannot be written`, () => needs.boxes.put({ ...box, migrationsHead }))
}

const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined)
