import { cleanExpiredCredentials } from '../admin/index.ts'
import { deleteOldAlerts } from '../alerts/index.ts'
import { boxesJobs, commandsOfLifecycle, commandsOfSetUp, lifecycleJobs } from '../boxes/index.ts'
import { passwordCleanup, trackRuns } from '../crons/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { forgetEvents } from '../events/index.ts'
import { filesJobs, forgetFolders, spacesWithFiles } from '../files/index.ts'
import { deleteEndedInvites, hostsJobs } from '../hosts/index.ts'
import { cleanUpRollouts, commandsOfRollouts } from '../rollouts/index.ts'
import { forgetSessions } from '../sessions/index.ts'
import { commandsOfRestores, snapshotsJobs } from '../snapshots/index.ts'
import { forgetSpaces, spacesJobs } from '../spaces/index.ts'
import { forgetTasks } from '../tasks/index.ts'
import type { FleetRooms } from './fleet-rooms.ts'
import type { TenantRooms } from './tenant-rooms.ts'
import type { FeatureDeps } from './wire-needs.ts'

/** Every job that runs at a time of the day, and what it needs to run once over all replicas. */
export const cronsRoom = (deps: FeatureDeps, holder: string, { boxes, snapshots, spaces, files }: FleetRooms & TenantRooms) => {
  const { db, clock, random, log, draining } = deps
  return {
    ...{ db, clock, random, log, holder, draining },
    jobs: [
      ...boxesJobs(boxes),
      ...lifecycleJobs(boxes),
      ...snapshotsJobs(snapshots),
      ...spacesJobs(spaces),
      ...filesJobs(files),
      ...hostsJobs({ db, clock, commandsInUse, others: whatIsForgotten(deps) }),
      passwordCleanup({ db, clock, cleanExpiredCredentials, deleteEndedInvites }),
    ],
    runs: trackRuns((err) => log.error({ err }, 'the end of a job run was not stored')),
  }
}

const whatIsForgotten = (deps: FeatureDeps): Parameters<typeof hostsJobs>[0]['others'] => [
  () => deleteOldAlerts(deps),
  (signal) => cleanUpRollouts(deps, signal),
  (signal) => forgetSessions(deps, signal),
  (signal) => forgetEvents(deps, signal),
  (signal) => forgetTasks(deps, signal),
  () => forgetFolders(deps),
  () => forgetSpaces({ ...deps, stillNeeded: spacesWithFiles }),
]

/** What rooms still read of old commands. */
const commandsInUse = async (db: DbOrTx) => [
  ...(await commandsOfRollouts(db)),
  ...(await commandsOfSetUp(db)),
  ...(await commandsOfRestores(db)),
  ...(await commandsOfLifecycle(db)),
]
