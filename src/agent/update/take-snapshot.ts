import { takeBoxSnapshot } from '../backup/index.ts'
import { reportVersions } from '../boxes/index.ts'
import { isAlive, waitForDatabase } from '../change/index.ts'
import { completeColdCopy, forgetColdCopy, makeColdCopy } from './cold-copy.ts'
import { beforeOf, type ColdCopy, type SnapshotEvidence, type UpdateRun } from './update-run.ts'

/**
 * The complete snapshot of the former box, while nothing writes to it. The database is copied while the dump goes to the store, because both
 * take about as long. The dump stays on this host for the rollback.
 */
export async function takeSnapshot(run: UpdateRun): Promise<SnapshotEvidence> {
  const { deps, box, context, signal } = run
  const { containers, installed } = beforeOf(run)
  const images = Object.entries(containers).map(([service, { image, digest }]) => [service, { image, digest }])
  // An agent that was killed during the copy left the database stopped.
  await startDatabase(run)
  // Not later: restic counts a file that vanishes as an incomplete snapshot.
  await forgetColdCopy(run)
  const over = new AbortController()
  let copying: Promise<ColdCopy> | undefined
  const copyDuringStore = async (step: string, mark: string) => {
    if (step !== 'store' || mark !== 'intent') return
    copying = copyDatabase({ ...run, signal: AbortSignal.any([signal, over.signal]) })
    // It is awaited below.
    copying.catch(() => undefined)
  }
  try {
    const { taken, counts } = await takeBoxSnapshot(
      { ...deps, onStep: copyDuringStore },
      {
        box,
        repository: await run.repository(),
        tier: 'pre-update',
        commandId: context.commandId,
        images: Object.fromEntries(images),
        installed: installed ?? (await reportVersions(deps, box)).installed,
        signal,
      },
    )
    const copy = copying && (await completeColdCopy(run, await copying))
    const { snapshotId, snapshotSha256: manifestSha256, takenAt } = taken
    return { snapshotId, manifestSha256, takenAt, counts, ...(copy ? { copy } : {}) }
  } finally {
    over.abort('ended')
    await copying?.catch(() => undefined)
  }
}

async function startDatabase(run: UpdateRun): Promise<void> {
  const { deps, box } = run
  const containers = await deps.engine.containers(box.project)
  if (containers.some((container) => container.service === 'postgres' && isAlive(container))) return
  await deps.engine.start(box.project, ['postgres'])
  await waitForDatabase(run)
}

/** The former database starts again at once, where the update does not replace it. */
async function copyDatabase(run: UpdateRun): Promise<ColdCopy> {
  const copy = await makeColdCopy(run)
  // The step `recreate` starts it too, and reports a failure.
  if (!beforeOf(run).planned.includes('postgres')) await run.deps.engine.start(run.box.project, ['postgres']).catch(() => undefined)
  return copy
}
