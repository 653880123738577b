import { type RestoreFacts, type RestoreOutcome, type RestoreResult, restoreOutcome } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { readBoxSecrets, resolvedFacts } from '../boxes/index.ts'
import { commonResult, errorOf, readComposeText, removeLeftover } from '../change/index.ts'
import { dropLoadingFile } from './load.ts'
import { databaseVolumes, dataVolumes, type RestoreRun } from './restore-run.ts'

/** Builds the result with all its evidence, then delivers changed secrets to the daemon and removes what is left over. */
export async function closeRestore(run: RestoreRun, facts: RestoreFacts): Promise<RestoreResult> {
  const outcome = restoreOutcome(facts)
  const { fetch, keep, switch: switched } = run.evidence()
  const result: RestoreResult = {
    outcome,
    snapshotId: run.payload.snapshotId,
    preRestore: keep?.preRestore ?? null,
    ...(outcome === 'restored' && switched?.keptFiles ? { keptFiles: [...switched.keptFiles] } : {}),
    ...(await commonResult(run)),
    error: outcome === 'restored' ? null : errorOf('restore', facts, remark(facts)),
  }
  if (outcome === 'restore_failed') return result
  if (outcome === 'restored' && switched?.secrets) await deliverSecrets(run)
  await dropLoadingFile(run.box).catch(() => undefined)
  // The box's own tables are now those of the snapshot. Ports, epoch and place of this host stay.
  const migrationsHead = outcome === 'restored' ? fetch?.snapshot.migrationsHead : undefined
  await removeLeftover(run, { volumes: await unusedVolumes(run, outcome).catch(() => []), migrationsHead })
  return result
}

function remark({ begun, abandoned }: RestoreFacts): string | undefined {
  if (!begun.has('stop')) return 'the box was not touched'
  return abandoned ? undefined : 'the box is as it was before'
}

/** The box uses the secrets of the snapshot again; the platform must know them. */
async function deliverSecrets(run: RestoreRun): Promise<void> {
  const secrets = await readBoxSecrets(run.box.project)
  if (!secrets) return
  const { edgeSecret, appserviceToken, registrationSharedSecret } = secrets
  await run.context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret }).catch((error) => {
    if (!isProblem(error)) throw error
  })
}

async function unusedVolumes(run: RestoreRun, outcome: RestoreOutcome): Promise<string[]> {
  const { fetch, keep, load } = run.evidence()
  if (!fetch) return volumesOfFailedFetch(run)
  const { database, data } = fetch
  const made = [...databaseVolumes(run, database.volume), ...data.flatMap(({ former }) => dataVolumes(run, former))]
  if (outcome !== 'restored') return made
  // Former volumes stay unless a snapshot holds their data.
  const former = keep?.preRestore ? [database.volume, ...data.map(({ former }) => former)] : []
  const serving = [load?.volume, ...data.map(({ restored }) => restored)]
  return [...former, ...made.filter((volume) => !serving.includes(volume))]
}

/** A failed fetch recorded nothing; its volumes are found by the names in the unchanged compose file. */
async function volumesOfFailedFetch(run: RestoreRun): Promise<string[]> {
  const text = await readComposeText(run.box).catch(() => undefined)
  const volumes = text === undefined ? {} : (await resolvedFacts(run.deps, run.box, text)).volumes
  return Object.values(volumes).flatMap((volume) => dataVolumes(run, volume))
}
