import { rm } from 'node:fs/promises'
import {
  type AgentError,
  isLeftOpen,
  isTouched,
  outcomeOf,
  type UpdateFacts,
  type UpdateOutcome,
  type UpdateResult,
} from '../../core/boxes/index.ts'
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
    updateOk: outcome === 'committed' || isLeftOpen(facts),
    healthOk: outcome === 'committed',
    rolledBack: outcome === 'rolled_back',
    ...(isLeftOpen(facts) ? { leftOpen: true } : {}),
    snapshotId: snapshot?.snapshotId ?? null,
    snapshotSha256: snapshot?.manifestSha256 ?? null,
    ...(snapshot?.takenAt === undefined ? {} : { snapshotTakenAt: snapshot.takenAt }),
    durationMs: run.elapsedMs(),
    fencedMs: fencedMs(run),
    digestsBefore: digests(prefetch?.containers),
    digestsAfter: digests(report?.services),
    probes: probesOf(run.entries()),
    composeBackup: rewrite?.backup ?? null,
    report,
    error: errorOf(run, facts, outcome),
  }
}

const digests = (services: Readonly<Record<string, { digest: string | null } | undefined>> = {}): Record<string, string | null> =>
  Object.fromEntries(Object.entries(services).map(([service, facts]) => [service, facts?.digest ?? null]))

function errorOf(run: UpdateRun, facts: UpdateFacts, outcome: UpdateOutcome): AgentError | null {
  if (outcome === 'committed') return null
  const why = facts.failure ?? { code: 'UPDATE_FAILED', message: 'the update failed' }
  if (outcome === 'rollback_failed' && facts.backError)
    return { code: facts.backError.code, message: `the way back failed: ${facts.backError.message}; it was taken because: ${why.message}` }
  if (isLeftOpen(facts)) return { code: why.code, message: `${why.message}; ${leftOpen(run)}` }
  if (!isTouched(facts)) return { code: why.code, message: `${why.message}; no container was replaced and no data was touched` }
  return why
}

function leftOpen({ box: { slug }, evidence }: UpdateRun): string {
  const snapshot = evidence().snapshot?.snapshotId.slice(0, 8)
  return (
    `${slug} is open to its users on the new version, so nothing goes back by itself: what they write would be lost. An operator must decide: ` +
    `\`tenantry boxes check ${slug}\` shows how it is now; \`tenantry snapshots restore ${slug} --snapshot ${snapshot} --reason <why>\` brings it back as it was, without what was written since`
  )
}

/**
 * What an update leaves behind is cleared once it has ended well or nothing was touched. After a failed way back everything stays: both
 * volumes, the dump, the images. Failures here never change how the update ended.
 */
export async function clearUp(run: UpdateRun, facts: UpdateFacts): Promise<void> {
  const outcome = outcomeOf(facts)
  if (outcome === 'rollback_failed') return
  const { needs } = run
  // Whoever decides about a box that was left open may want its former images.
  if (!isLeftOpen(facts)) await quietly(letImagesGo(run))
  if (outcome !== 'rolled_back' && run.evidence().prefetch) await quietly(dropColdCopy(run))
  await quietly(clearDump(needs, run.context.commandId))
  await quietly(rm(`${run.dumpFolder}.restored`, { recursive: true, force: true }))
  if (outcome === 'committed' || isLeftOpen(facts)) await takeOverHead(run)
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
