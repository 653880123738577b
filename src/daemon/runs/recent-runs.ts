import { LRUCache } from 'lru-cache'
import type { RunRecord } from './runs.repo.ts'

type One = Readonly<{ tenantId: string; id: string }>
const keyOf = ({ tenantId, id }: One): string => `${tenantId}/${id}`

const recent = new LRUCache<string, RunRecord>({
  maxSize: 16 * 1024 * 1024,
  maxEntrySize: 64 * 1024,
  // Objects take more memory than their text.
  sizeCalculation: ({ state }) => 1000 + JSON.stringify(state).length,
})

/**
 * Runs as this process stored them last, so that their next step need not read them. Another replica or an erasure may have changed the row since:
 * refuse nothing because of such a run, and store its step only over the row that it began with (`replaceRun`).
 */
export const storeRecentRun = (run: RunRecord): void => {
  if (run.state.finishedAt === null) recent.set(keyOf(run), run)
}

/** The run as it was stored last, if it is known. Only one caller gets it: the step that follows stores the next. */
export function takeRecentRun(one: One): RunRecord | undefined {
  const run = recent.get(keyOf(one))
  recent.delete(keyOf(one))
  return run
}
