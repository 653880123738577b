import { hasColdCopy, isOpened } from '../../core/boxes/index.ts'
import { takeBoxSnapshot } from '../backup/index.ts'
import { reportVersions } from '../boxes/index.ts'
import { isAlive, waitForDatabase } from '../change/index.ts'
import { retry } from '../saga/index.ts'
import { keepColdCopy, makeColdCopy } from './cold-copy.ts'
import { stagedFolder, stopDumpServer, withDumpServer } from './dump-server.ts'
import { beforeOf, type ColdCopy, isAlongside, type SnapshotEvidence, type UpdateRun } from './update-run.ts'

/** The complete snapshot of the former box. */
export const takeSnapshot = (run: UpdateRun): Promise<SnapshotEvidence> =>
  isAlongside(run) && hasColdCopy(run.facts()) ? storeColdCopy(run) : snapshotAtRest(run)

/** How long an open box waits after the first failure of its store, before it is rolled back. */
const maxStoreWaitMs = 10 * 60_000

/** From the cold copy, while the box serves: media and objects are those of now, which were only added to. */
async function storeColdCopy(run: UpdateRun): Promise<SnapshotEvidence> {
  const { deps, context, signal } = run
  let failedAtMs: number | undefined
  const at = run.evidence()['cold-copy']?.at
  const onStep = async (step: string, mark: string) => {
    // The dump is complete, so its server is not needed any more.
    if (step === 'store' && mark === 'intent') await stopDumpServer(run)
  }
  const store = () =>
    withDumpServer(run, async (database) => {
      const snapshot = {
        ...(await requestOf(run)),
        database,
        boxFolder: stagedFolder(run),
        live: true,
        ...(at === undefined ? {} : { at }),
      }
      return takeBoxSnapshot({ ...deps, onStep }, snapshot)
    }).catch((error) => {
      failedAtMs ??= deps.clock.monotonicMs()
      throw error
    })
  await keepColdCopy(run)
  const isOver = () => !isOpened(run.entries()) || deps.clock.monotonicMs() - (failedAtMs ?? 0) > maxStoreWaitMs
  const waiting = { deps, context: { ...context, signal }, isOver }
  return evidenceOf(await retry(waiting, 'the snapshot cannot be stored', store))
}

/**
 * While nothing writes to the box. The database is copied while the dump goes to the store, because both take about as long. The dump stays on
 * this host for the rollback.
 */
async function snapshotAtRest(run: UpdateRun): Promise<SnapshotEvidence> {
  const { deps, signal } = run
  // An agent that was killed during the copy left the database stopped.
  await startDatabase(run)
  const over = new AbortController()
  let copying: Promise<ColdCopy> | undefined
  const copyDuringStore = async (step: string, mark: string) => {
    if (step !== 'store' || mark !== 'intent') return
    copying = copyDatabase({ ...run, signal: AbortSignal.any([signal, over.signal]) })
    // It is awaited below.
    copying.catch(() => undefined)
  }
  try {
    const snapshot = await takeBoxSnapshot({ ...deps, onStep: copyDuringStore }, await requestOf(run))
    return { ...evidenceOf(snapshot), ...(copying ? { copy: await copying } : {}) }
  } finally {
    over.abort('ended')
    await copying?.catch(() => undefined)
  }
}

type SnapshotRequest = Parameters<typeof takeBoxSnapshot>[1]

async function requestOf(run: UpdateRun): Promise<SnapshotRequest> {
  const { deps, box, context, signal } = run
  const { containers, installed } = beforeOf(run)
  const images = Object.entries(containers).map(([service, { image, digest }]) => [service, { image, digest }])
  return {
    box,
    repository: await run.repository(),
    tier: 'pre-update',
    commandId: context.commandId,
    images: Object.fromEntries(images),
    installed: installed ?? (await reportVersions(deps, box)).installed,
    signal,
  }
}

function evidenceOf({ taken, counts }: Awaited<ReturnType<typeof takeBoxSnapshot>>): SnapshotEvidence {
  const { snapshotId, snapshotSha256: manifestSha256, takenAt } = taken
  return { snapshotId, manifestSha256, takenAt, counts }
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
