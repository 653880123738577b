import { holesText, InstalledVersions, type ReopenedHole, reopenedHoles } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { BoxRecord } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import type { SnapshotRow } from './snapshots.repo.ts'

export type HoleDeps = Pick<SnapshotsDeps, 'fixes' | 'versionsBefore'>

/** The holes that a box has again with a snapshot. One of which nobody knows what it holds has those of emergencies that were not over when it was taken. */
export async function holesOfSnapshot(deps: HoleDeps, tx: Tx, box: BoxRecord, snapshot: SnapshotRow): Promise<ReopenedHole[]> {
  const fixes = await deps.fixes(tx)
  const to = await versionsIn(deps, tx, snapshot)
  const about = to ? fixes : fixes.filter(({ overAt }) => overAt === null || snapshot.taken_at <= overAt)
  return reopenedHoles(about, { from: box.installed, to })
}

async function versionsIn({ versionsBefore }: HoleDeps, tx: Tx, { installed, command_id }: SnapshotRow): Promise<InstalledVersions | null> {
  if (installed !== null) return InstalledVersions.parse(JSON.parse(installed))
  return command_id === null ? null : versionsBefore(tx, command_id)
}

/** Throws REOPENS_HOLE. */
export function refuseHoles(slug: string, snapshotId: string, holes: readonly ReopenedHole[]): void {
  if (holes.length === 0) return
  throw problem(
    'REOPENS_HOLE',
    `with the snapshot ${snapshotId.slice(0, 8)} ${slug} would have ${holesText(holes)} again: choose a newer snapshot, or, where its data ` +
      `matter more, say so with \`--allow-hole\` (allowHole) and close it at once: \`tenantry rollouts create --target ${slug} --start\``,
  )
}
