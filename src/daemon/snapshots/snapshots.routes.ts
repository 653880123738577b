import { snapshotsContract } from '../../core/snapshots/index.ts'
import { serveContract } from '../http/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { drillBox } from './drill-box.ts'
import { listSnapshots } from './list-snapshots.ts'
import { restoreBox } from './restore-box.ts'
import { takeSnapshot } from './take-snapshot.ts'

export const snapshotsRoutes = (deps: SnapshotsDeps) =>
  serveContract(snapshotsContract, {
    listSnapshots: ({ query }) => listSnapshots(deps, query),
    takeSnapshot: ({ actor, params }) => takeSnapshot(deps, actor, params.slug),
    restoreBox: ({ actor, params, body }) => restoreBox(deps, actor, { ...params, ...body }),
    drillBox: ({ actor, params, body }) => drillBox(deps, actor, { ...params, ...body }),
  })
