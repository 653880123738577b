import { isoIn, plural } from '../../core/kit/index.ts'
import type { TasksDeps } from './deps.ts'

const atOnce = 1000
const keepMs = 365 * 24 * 60 * 60_000

/** Deletes tasks a year after they were done or cancelled. No bootstrap document shows them by then, so there is no event. */
export async function deleteOldTasks({ db, clock }: Pick<TasksDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  const until = isoIn(clock, -keepMs)
  let gone = 0
  for (let last = atOnce; last === atOnce && !signal?.aborted; gone += last) {
    const old = db
      .selectFrom('tasks')
      .select('id')
      .where('status', 'in', ['done', 'cancelled'])
      .where('updated_at', '<=', until)
      .limit(atOnce)
    const { numDeletedRows } = await db.deleteFrom('tasks').where('id', 'in', old).executeTakeFirst()
    last = Number(numDeletedRows)
  }
  return plural(gone, 'old task')
}
