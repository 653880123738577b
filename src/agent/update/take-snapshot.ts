import { isOpened, isProvenClosed } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { reportWaiting, takeBoxSnapshot } from '../backup/index.ts'
import { reportVersions } from '../boxes/index.ts'
import { isAlive, waitForDatabase } from '../change/index.ts'
import { retry } from '../saga/index.ts'
import { makeColdCopy, takeColdCopy } from './cold-copy.ts'
import { stagedFolder, stopDumpServer, withDumpServer } from './dump-server.ts'
import { assertRecovered } from './hot-copy.ts'
import { proveTarget } from './prove-target.ts'
import { beforeOf, type ColdCopy, type SnapshotEvidence, storesFromCopy, type UpdateRun } from './update-run.ts'

/** The complete snapshot of the former box. */
export const takeSnapshot = (run: UpdateRun): Promise<SnapshotEvidence> => (storesFromCopy(run) ? storeColdCopy(run) : snapshotAtRest(run))

/** How long an open box waits after the first failure of its store, before it is rolled back. */
const maxStoreWaitMs = 10 * 60_000

/**
 * From the cold copy: media and objects are those of now, which were only added to. The box is probed meanwhile, since users may be on it.
 * Throws PROBE_FAILED for a box that fails.
 */
async function storeColdCopy(run: UpdateRun): Promise<SnapshotEvidence> {
  const over = new AbortController()
  const within = { ...run, signal: AbortSignal.any([run.signal, over.signal]) }
  // A closed box is opened once both are done.
  const mustProve = !isOpened(run.entries()) && !isProvenClosed(run.facts())
  const storing = storeWhenPossible(within)
  const probing = mustProve ? proveTarget(within, 'snapshot') : probeUntil(within, over.signal)
  try {
    if (!mustProve) return await Promise.race([storing, probing.then(() => storing)])
    const [stored] = await Promise.all([storing, probing])
    return { ...stored, isStable: true }
  } finally {
    over.abort('ended')
    await Promise.allSettled([probing, storing])
  }
}

/** A dump may take an hour, longer than one proof. */
async function probeUntil(run: UpdateRun, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await proveTarget(run, 'snapshot')
    await run.deps.clock.sleep(run.payload.probe.spacingMs, over)
  }
}

/** A store that does not answer is waited for while the box is open. */
async function storeWhenPossible(run: UpdateRun): Promise<SnapshotEvidence> {
  const { deps, box, context, signal } = run
  let failedAtMs: number | undefined
  let isGone = false
  const store = async () => {
    try {
      isGone = !(await takeColdCopy(run))
      if (isGone) throw problem('SNAPSHOT_FAILED', `the copy of ${box.slug} is gone, or from before a restart of its host`)
      return await storeOnce(run)
    } catch (error) {
      failedAtMs ??= deps.clock.monotonicMs()
      throw error
    }
  }
  const isTooLong = () => deps.clock.monotonicMs() - (failedAtMs ?? 0) > maxStoreWaitMs
  const isOver = () => signal.aborted || isGone || !isOpened(run.entries()) || isTooLong()
  return retry({ deps, context: { ...context, signal }, isOver }, 'the snapshot cannot be stored', store)
}

async function storeOnce(run: UpdateRun): Promise<SnapshotEvidence> {
  const at = run.evidence()['cold-copy']?.at
  // The dump is complete then, so its server is not needed any more.
  const onStep = async (step: string, mark: string) => void (step === 'store' && mark === 'intent' && (await stopDumpServer(run)))
  return withDumpServer(run, async (database) => {
    await assertRecovered(run, { code: 'SNAPSHOT_FAILED', database })
    const snapshot = { ...(await requestOf(run)), database, boxFolder: stagedFolder(run), live: true, ...(at === undefined ? {} : { at }) }
    return evidenceOf(await takeBoxSnapshot({ ...run.deps, onStep }, snapshot))
  })
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
  let isStored = false
  const copyDuringStore = async (step: string, mark: string) => {
    if (step !== 'store' || mark !== 'intent') return
    copying = copyDatabase({ ...run, signal: AbortSignal.any([signal, over.signal]) }, () => isStored)
    // It is awaited below.
    copying.catch(() => undefined)
  }
  try {
    const snapshot = await takeBoxSnapshot({ ...deps, onStep: copyDuringStore }, await requestOf(run))
    isStored = true
    return { ...evidenceOf(snapshot), ...(copying ? { copy: await copying } : {}) }
  } finally {
    over.abort('ended')
    await copying?.catch(() => undefined)
  }
}

type SnapshotRequest = Parameters<typeof takeBoxSnapshot>[1]

async function requestOf(run: UpdateRun): Promise<SnapshotRequest> {
  const { deps, box, context, signal } = run
  const { containers, installed, volumeKeys, databaseBytes } = beforeOf(run)
  const images = Object.entries(containers).map(([service, { image, digest }]) => [service, { image, digest }])
  return {
    box,
    repository: await run.repository(),
    tier: 'pre-update',
    commandId: context.commandId,
    images: Object.fromEntries(images),
    installed: installed ?? (await reportVersions(deps, box)).installed,
    ...{ volumeKeys, databaseBytes, signal, onWaiting: reportWaiting(context, 'snapshot') },
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

/** The former database starts again while the store is still busy, where the update does not replace it. */
async function copyDatabase(run: UpdateRun, isStored: () => boolean): Promise<ColdCopy> {
  const copy = await makeColdCopy(run)
  // Else the step `recreate` starts it, beside other work; it also reports a failure.
  const isEarly = !isStored() && !beforeOf(run).planned.includes('postgres')
  if (isEarly) await run.deps.engine.start(run.box.project, ['postgres']).catch(() => undefined)
  return copy
}
