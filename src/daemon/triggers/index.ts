// Triggers of published boards: they start runs at times, by events of the tenant and by messages in rooms of its spaces.
// Each occurrence has a key that is unique per board, and is stored in the transaction that starts the run: at most one run each.
// Stores no text of a message, unless the board maps it to a variable.
import './triggers.tables.ts'
import { triggersContract } from '../../core/boards/index.ts'
import { isoIn, plural } from '../../core/kit/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { answerJobs } from './answer-room.ts'
import { chatReaders } from './chat-readers.ts'
import { followTimeZones, runDueCrons } from './cron-triggers.ts'
import type { TriggersDeps } from './deps.ts'
import { readEvents } from './event-triggers.ts'
import { failedStartJobs } from './failed-starts.ts'
import { listOccurrences } from './list-occurrences.ts'
import { deleteOccurrencesBefore } from './occurrences.repo.ts'

export type { TriggersDeps } from './deps.ts'
export { depthAfter } from './occurrences.repo.ts'
export { readerRestartListener } from './restart-listener.ts'
export { triggersOfBoards } from './triggers-of-boards.ts'

const pollMs = 1_000
/** Compares the time zones of all cron triggers, so it runs rarely. */
const timeZonesMs = 60_000
const retentionMs = 30 * 86_400_000

export const triggersFeature = feature<TriggersDeps>({
  name: 'triggers',
  routes: (deps) =>
    serveContract(triggersContract, {
      listTriggerOccurrences: ({ actor, params, query }) => listOccurrences(deps, actor, { ...params, ...query }),
    }),
  loops: (deps) => [
    { everyMs: pollMs, name: 'read events for triggers', run: () => readEvents(deps) },
    { everyMs: pollMs, name: 'start runs by time', run: () => runDueCrons(deps) },
    { everyMs: timeZonesMs, name: 'follow the time zones of tenants', run: () => followTimeZones(deps) },
    chatReaders(deps),
  ],
  jobs: (deps) => ({ ...answerJobs(deps), ...failedStartJobs(deps) }),
  cleanup: (deps) => [
    async () => `${plural(await deleteOccurrencesBefore(deps.db, isoIn(deps.clock, -retentionMs)), 'occurrence')} of triggers`,
  ],
})
