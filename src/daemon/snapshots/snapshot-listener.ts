import type { CommandListener } from '../hosts/index.ts'
import type { SnapshotsDeps } from './deps.ts'
import { drillFailures, drillResults } from './drill-box.ts'
import { maintenanceFailures, maintenanceResults } from './maintain-repository.ts'
import { takeOverResults } from './move-snapshots.ts'
import { recoverFailures, recoverResults } from './recover-box.ts'
import { restoreFailures, restoreResults } from './restore-box.ts'
import { snapshotFailures, snapshotResults } from './take-snapshot.ts'

/** Handlers for the results and failures of snapshot commands. */
export const snapshotListener = (deps: Pick<SnapshotsDeps, 'clock' | 'random' | 'deadlineMs' | 'versionsBefore'>): CommandListener => ({
  resultHandlers: {
    ...snapshotResults(deps),
    ...restoreResults(deps),
    ...takeOverResults(deps),
    ...drillResults(deps),
    ...maintenanceResults(deps),
    ...recoverResults(deps),
  },
  failureHandlers: {
    ...snapshotFailures(deps),
    ...restoreFailures(deps),
    ...drillFailures(deps),
    ...maintenanceFailures(deps),
    ...recoverFailures(deps),
  },
})
