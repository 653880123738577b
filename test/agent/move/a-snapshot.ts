import { takeBoxSnapshot } from '../../../src/agent/backup/index.ts'
import { reportVersions } from '../../../src/agent/boxes/index.ts'
import type { LocalBox } from '../../../src/agent/ports/index.ts'
import type { SnapshotTaken, SnapshotTier } from '../../../src/core/boxes/index.ts'
import { moving } from '../simulated/boxes.ts'
import type { Deps, MovingHost } from './a-move.ts'

/** A snapshot of a box that goes on serving. */
export async function snapshotOfBox(host: Pick<MovingHost, 'agent'>, box: LocalBox, tier: SnapshotTier): Promise<SnapshotTaken> {
  const deps: Deps = await host.agent()
  const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }
  await deps.snapshots.prepare(repository)
  const { installed } = await reportVersions(deps, box)
  const containers = await deps.engine.containers(box.project)
  const images = Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }]))
  const request = { box, repository, tier, commandId: `a-${tier}`, images, installed }
  return (await moving(deps.clock as never, () => takeBoxSnapshot(deps, request))).taken
}
