import type { SnapshotTaken } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { reportWaiting, takeBoxSnapshot } from '../backup/index.ts'
import { assertMounted, resultOf, stopAll, waitForDatabase } from '../change/index.ts'
import type { StreamPositions } from '../ports/index.ts'
import type { Kept, RestoreRun } from './restore-run.ts'

/**
 * Takes the complete snapshot of the present box while nothing writes to it, with its stream positions, which clients know. The database of a
 * quarantined box may be half loaded by a failed rollback: its positions are unknown, and a dump of it must not pass for the box.
 */
export async function keepPresentBox(run: RestoreRun): Promise<Kept> {
  const { deps, box, signal } = run
  const { database, quarantinedBy } = resultOf(run, 'fetch')
  if (quarantinedBy !== null)
    return keepFilesOf(run, `the box is quarantined since ${quarantinedBy}, whose rollback may have loaded only a part of its data`)
  await deps.engine.up(box.project, ['postgres'], signal)
  await assertMounted(run, database.volume)
  const streams = await readStreams(run)
  return 'broken' in streams ? keepFilesOf(run, streams.broken) : { preRestore: await takePreRestore(run), streams }
}

async function readStreams(run: RestoreRun): Promise<StreamPositions | { broken: string }> {
  try {
    await waitForDatabase(run)
    return await run.deps.servers.streamPositions(run.box, run.signal)
  } catch (error) {
    run.signal.throwIfAborted()
    if (isProblem(error, 'BOX_UNHEALTHY') || isProblem(error, 'RESTORE_FAILED')) return { broken: error.message }
    throw error
  }
}

async function takePreRestore(run: RestoreRun): Promise<SnapshotTaken> {
  const { deps, box, context, signal } = run
  const { images, installed } = resultOf(run, 'fetch')
  const { taken } = await takeBoxSnapshot(deps, {
    box,
    repository: await run.repository(),
    tier: 'pre-restore',
    commandId: context.commandId,
    images,
    installed,
    signal,
    onWaiting: reportWaiting(context, 'keep'),
  })
  return taken
}

/** Stores the files of a database that cannot be dumped. */
async function keepFilesOf(run: RestoreRun, reason: string): Promise<Kept> {
  const { deps, box, context, signal } = run
  context.progress({ step: 'keep', detail: `the database cannot be dumped, its files are stored instead: ${reason}`.slice(0, 300) })
  await stopAll(run)
  const { database, data } = resultOf(run, 'fetch')
  const folders = await Promise.all([database.volume, ...data.map(({ former }) => former)].map((volume) => folderOf(run, volume)))
  const paths = [box.project.folder, ...folders]
  const request = {
    tier: 'pre-restore' as const,
    commandId: context.commandId,
    slug: box.slug,
    paths,
    onWaiting: reportWaiting(context, 'keep'),
  }
  await deps.snapshots.take(await run.repository(), request, signal)
  return { preRestore: null, streams: 'unknown' }
}

async function folderOf({ deps }: RestoreRun, volume: string): Promise<string> {
  const folder = await deps.engine.volumePath(volume)
  if (folder === undefined) throw problem('SNAPSHOT_FAILED', `the volume ${volume} does not exist or is on another machine than this agent`)
  return folder
}
