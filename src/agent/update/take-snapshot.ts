import { takeBoxSnapshot } from '../backup/index.ts'
import { reportVersions } from '../boxes/index.ts'
import type { SnapshotEvidence } from './evidence.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/** The complete snapshot of the box as it was, while nothing writes to it. The dump stays here for the way back. */
export async function takeSnapshot(run: UpdateRun): Promise<SnapshotEvidence> {
  const { deps, box, context, signal } = run
  const { containers, installed } = beforeOf(run)
  const images = Object.entries(containers).map(([service, { image, digest }]) => [service, { image, digest }])
  const { taken, counts } = await takeBoxSnapshot(deps, {
    box,
    repository: await run.repository(),
    tier: 'pre-update',
    commandId: context.commandId,
    images: Object.fromEntries(images),
    installed: installed ?? (await reportVersions(deps, box)).installed,
    signal,
  })
  return { snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, takenAt: taken.takenAt, counts }
}
