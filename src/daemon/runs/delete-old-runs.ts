import { isoNow, plural } from '../../core/kit/index.ts'
import type { RunsDeps } from './deps.ts'

const atOnce = 200

/** Deletes ended runs past the retention of their board, with their history, values and messages. Files of reports stay in the space. */
export async function deleteOldRuns({ db, clock }: Pick<RunsDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  const until = isoNow(clock)
  let gone = 0
  for (let last = atOnce; last === atOnce && !signal?.aborted; gone += last) {
    last = await db.transaction().execute(async (tx) => {
      const rows = await tx.selectFrom('runs').select('id').where('expires_at', '<=', until).limit(atOnce).execute()
      const ids = rows.map(({ id }) => id)
      if (ids.length === 0) return 0
      for (const table of ['run_history', 'run_elements', 'run_timers', 'run_messages', 'run_reports'] as const)
        await tx.deleteFrom(table).where('run_id', 'in', ids).execute()
      await tx.deleteFrom('runs').where('id', 'in', ids).execute()
      return ids.length
    })
  }
  return plural(gone, 'old run')
}
