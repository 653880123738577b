import type { Clock } from '../../core/kit/index.ts'
import type { CommandListener } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { drillFailures, drillResults } from './finish-drills.ts'
import { restoreFailures, restoreResults } from './finish-restores.ts'
import { snapshotFailures, snapshotResults } from './finish-snapshots.ts'
import { takeOverResults } from './finish-take-overs.ts'
import { tendingFailures, tendingResults } from './finish-tending.ts'

/** What this room takes in of how commands end. */
export const snapshotListener = (deps: Readonly<{ clock: Clock }> & Pick<SnapshotsDeps, 'versionsBefore'>): CommandListener => ({
  resultHandlers: {
    ...snapshotResults(deps),
    ...restoreResults(deps),
    ...takeOverResults(deps),
    ...drillResults(deps),
    ...tendingResults(deps),
  },
  failureHandlers: { ...snapshotFailures(deps), ...restoreFailures(deps), ...drillFailures(deps), ...tendingFailures(deps) },
})
