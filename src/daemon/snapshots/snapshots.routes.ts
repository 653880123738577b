import { snapshotsContract } from '../../core/snapshots/index.ts'
import { type Served, serve } from '../http/index.ts'
import { drillBox } from './drill-box.ts'
import { listSnapshots } from './list-snapshots.ts'
import type { SnapshotsNeeds } from './needs.ts'
import { restoreBox } from './restore-box.ts'
import { takeSnapshot } from './take-snapshot.ts'

export const snapshotsRoutes = (needs: SnapshotsNeeds): Served[] => [
  serve(snapshotsContract.listSnapshots, ({ query }) => listSnapshots(needs, query)),
  serve(snapshotsContract.takeSnapshot, ({ actor, params }) => takeSnapshot(needs, actor, params.slug)),
  serve(snapshotsContract.restoreBox, ({ actor, params, body }) => restoreBox(needs, actor, { ...params, ...body })),
  serve(snapshotsContract.drillBox, ({ actor, params, body }) => drillBox(needs, actor, { ...params, ...body })),
]
