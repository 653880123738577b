// Flows of tenants: boards (save versions, check, publish), runs that follow a version, and triggers that start runs by times, events and messages.
// The rules are in core/boards. A step is stored in one transaction with its history, tasks, timers, events and jobs; an occurrence of a trigger
// starts at most one run. A saved version never changes. No text of a message is stored, unless the board maps it to a variable.
import './boards/boards.tables.ts'
import './runs/runs.tables.ts'
import './triggers/triggers.tables.ts'
import { triggersContract } from '../../core/boards/index.ts'
import { isoIn, plural } from '../../core/kit/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { boardsRoutes } from './boards/boards.routes.ts'
import type { BoardsDeps } from './boards/deps.ts'
import { deleteOldRuns } from './runs/delete-old-runs.ts'
import type { RunsDeps } from './runs/deps.ts'
import { timerLoop } from './runs/fire-timers.ts'
import { reportJobs } from './runs/reports.ts'
import { runsRoutes } from './runs/runs.routes.ts'
import { messageJobs } from './runs/send-messages.ts'
import { answerJobs } from './triggers/answer-room.ts'
import { chatReaders } from './triggers/chat-readers.ts'
import { followTimeZones, runDueCrons } from './triggers/cron-triggers.ts'
import type { TriggersDeps } from './triggers/deps.ts'
import { readEvents } from './triggers/event-triggers.ts'
import { failedStartJobs } from './triggers/failed-starts.ts'
import { listOccurrences } from './triggers/list-occurrences.ts'
import { deleteOccurrencesBefore } from './triggers/occurrences.repo.ts'

export { storeBoard } from './boards/save-board.ts'
export { draftOf } from './boards/transfer-board.ts'
export { flowPorts } from './flow-ports.ts'
export { eraseUserRuns } from './runs/erase-user-runs.ts'
export { fireTimers } from './runs/fire-timers.ts'
export { runTasks } from './runs/task-of-run.ts'
export { depthAfter } from './triggers/occurrences.repo.ts'
export { readerRestartListener } from './triggers/restart-listener.ts'

const pollMs = 1_000
/** Compares the time zones of all cron triggers, so it runs rarely. */
const timeZonesMs = 60_000
const retentionMs = 30 * 86_400_000

export const flowsFeature = feature<BoardsDeps & RunsDeps & TriggersDeps>({
  name: 'flows',
  routes: (deps) => [
    ...boardsRoutes(deps),
    ...runsRoutes(deps),
    ...serveContract(triggersContract, {
      listTriggerOccurrences: ({ actor, params, query }) => listOccurrences(deps, actor, { ...params, ...query }),
    }),
  ],
  jobs: (deps) => ({
    ...messageJobs(deps),
    ...reportJobs(deps),
    ...answerJobs(deps),
    ...failedStartJobs(deps),
  }),
  loops: (deps) => [
    timerLoop(deps),
    { everyMs: pollMs, name: 'read events for triggers', run: () => readEvents(deps) },
    { everyMs: pollMs, name: 'start runs by time', run: () => runDueCrons(deps) },
    { everyMs: timeZonesMs, name: 'follow the time zones of tenants', run: () => followTimeZones(deps) },
    chatReaders(deps),
  ],
  cleanup: (deps) => [
    (signal) => deleteOldRuns(deps, signal),
    async () => `${plural(await deleteOccurrencesBefore(deps.db, isoIn(deps.clock, -retentionMs)), 'occurrence')} of triggers`,
  ],
})
