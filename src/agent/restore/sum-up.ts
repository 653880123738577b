import { type RestoreFacts, type RestoreOutcome, type RestoreResult, restoreOutcome } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { readBoxSecrets, readCompose } from '../boxes/index.ts'
import { commonResult, errorOf, readComposeText, removeLeftover } from '../change/index.ts'
import { dropLoadingFile } from './load.ts'
import { databaseVolumes, dataVolumes, type RestoreRun } from './restore-run.ts'

/** The result with all its evidence, after which the daemon is told what changed, and what is left behind is cleared. */
export async function close(run: RestoreRun, facts: RestoreFacts): Promise<RestoreResult> {
  const outcome = restoreOutcome(facts)
  const { fetch, keep, switch: switched } = run.evidence()
  const result: RestoreResult = {
    outcome,
    snapshotId: run.payload.snapshotId,
    preRestore: keep?.preRestore ?? null,
    ...(await commonResult(run)),
    error: outcome === 'restored' ? null : errorOf('restore', facts, remark(facts)),
  }
  if (outcome === 'restore_failed') return result
  if (outcome === 'restored' && switched?.secrets) await tellSecrets(run)
  await dropLoadingFile(run.box).catch(() => undefined)
  // The box's own tables are those of the snapshot now. Ports, epoch and place stay what they are on this host.
  const migrationsHead = outcome === 'restored' ? fetch?.snapshot.migrationsHead : undefined
  await removeLeftover(run, { volumes: await uselessVolumes(run, outcome).catch(() => []), migrationsHead })
  return result
}

function remark({ begun, abandoned }: RestoreFacts): string | undefined {
  if (!begun.has('stop')) return 'nothing of the box was touched'
  return abandoned ? undefined : 'the box is as it was before'
}

/** The secrets of the snapshot are the box's own again: where they differ, the platform knows others. */
async function tellSecrets(run: RestoreRun): Promise<void> {
  const secrets = await readBoxSecrets(run.box.project)
  if (!secrets) return
  const { edgeSecret, appserviceToken, registrationSharedSecret } = secrets
  await run.context.deliver({ edgeSecret, appserviceToken, registrationSharedSecret }).catch((error) => {
    if (!isProblem(error)) throw error
  })
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
