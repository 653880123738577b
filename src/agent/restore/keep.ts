import type { SnapshotTaken } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { takeBoxSnapshot } from '../backup/index.ts'
import { waitForDatabase } from '../guarded/index.ts'
import type { StreamPositions } from '../ports/index.ts'
import { leftBy, type RestoreRun } from './restore-run.ts'

/**
 * The complete snapshot of what is there now, while nobody writes to it, and how far its streams have come: clients know these positions.
 * A box that was at rest gets its PostgreSQL started for this, and nothing else.
 */
export async function keep(run: RestoreRun): Promise<{ preRestore: SnapshotTaken; streams: StreamPositions }> {
  const { needs, box, context, signal } = run
  const { images, installed, database } = leftBy(run, 'fetch')
  await needs.engine.up(box.project, ['postgres'], signal)
  await needMounted(run, database.volume)
  await waitForDatabase(run)
  const streams = await needs.inside.streamPositions(box, signal)
  const { taken } = await takeBoxSnapshot(needs, {
    box,
    repository: await run.repository(),
    tier: 'pre-restore',
    commandId: context.commandId,
    images,
    installed,
    signal,
  })
  return { preRestore: taken, streams }
}

/** What is read or filled must be the volume that is meant. Throws RESTORE_FAILED. */
export async function needMounted({ needs, box }: RestoreRun, volume: string): Promise<void> {
  const database = (await needs.engine.containers(box.project)).find(({ service }) => service === 'postgres')
  if (!database?.volumes.includes(volume))
    throw problem(
      'RESTORE_FAILED',
      `the database of ${box.slug} did not get the volume ${volume} but ${database?.volumes.join(', ') || 'none'}`,
    )
}
