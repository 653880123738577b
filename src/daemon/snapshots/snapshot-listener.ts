import type { Clock } from '../../core/kit/index.ts'
import type { CommandListener } from '../hosts/index.ts'
import { drillFailures, drillResults } from './finish-drills.ts'
import { restoreFailures, restoreResults } from './finish-restores.ts'
import { snapshotFailures, snapshotResults } from './finish-snapshots.ts'
import { takeOverResults } from './finish-take-overs.ts'
import { tendingFailures, tendingResults } from './finish-tending.ts'
import type { SnapshotsNeeds } from './needs.ts'

/** What this room takes in of how commands end. */
export const snapshotListener = (needs: Readonly<{ clock: Clock }> & Pick<SnapshotsNeeds, 'versionsBefore'>): CommandListener => ({
  resultHandlers: {
    ...snapshotResults(needs),
    ...restoreResults(needs),
    ...takeOverResults(needs),
    ...drillResults(needs),
    ...tendingResults(needs),
  },
  failureHandlers: { ...snapshotFailures(needs), ...restoreFailures(needs), ...drillFailures(needs), ...tendingFailures(needs) },
})
