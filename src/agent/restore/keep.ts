import type { SnapshotTaken } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { takeBoxSnapshot } from '../backup/index.ts'
import { assertMounted, resultOf, stopAll, waitForDatabase } from '../change/index.ts'
import type { StreamPositions } from '../ports/index.ts'
import type { Kept, RestoreRun } from './restore-run.ts'

/**
 * The complete snapshot of what is there now, while nobody writes to it, and how far its streams have come: clients know these positions.
 * The database of a box that was at rest may be what a failed way back half loaded: it says nothing about what clients have seen, and a
 * dump of it would pass for the box.
 */
export async function keep(run: RestoreRun): Promise<Kept> {
  const { deps, box, signal } = run
  const { database, restedUnder } = resultOf(run, 'fetch')
  if (restedUnder !== null) return keepFilesOf(run, `the box rests since ${restedUnder}, whose way back may have left half of it`)
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
  })
  return taken
}

/** A broken database is what restores are for. A dump of it is not to be trusted, but its files at rest are all that there is of it. */
async function keepFilesOf(run: RestoreRun, reason: string): Promise<Kept> {
  const { deps, box, context, signal } = run
  context.progress({ step: 'keep', detail: `the database cannot be dumped, so its files are kept: ${reason}`.slice(0, 300) })
  await stopAll(run)
  const { database, data } = resultOf(run, 'fetch')
  const folders = await Promise.all([database.volume, ...data.map(({ former }) => former)].map((volume) => folderOf(run, volume)))
  const paths = [box.project.folder, ...folders]
  const request = { tier: 'pre-restore' as const, commandId: context.commandId, slug: box.slug, paths }
  await deps.snapshots.take(await run.repository(), request, signal)
  return { preRestore: null, streams: 'unknown' }
}

async function folderOf({ deps }: RestoreRun, volume: string): Promise<string> {
  const folder = await deps.engine.volumePath(volume)
  if (folder === undefined) throw problem('SNAPSHOT_FAILED', `the volume ${volume} is gone, or lies on another machine than this agent`)
  return folder
}
