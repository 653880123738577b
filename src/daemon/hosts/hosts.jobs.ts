import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { type Cleanup, type Cron, defineCron } from '../feature/index.ts'
import { openStatuses } from './expire-commands.ts'

export type HousekeepingDeps = Readonly<{
  db: Db
  clock: Clock
  /** Commands that a feature still reads, however old: a paused rollout continues with their results. */
  commandsInUse(db: DbOrTx): Promise<readonly string[]>
  /** Clean-up of all features; each returns a summary. */
  cleanups?: () => readonly Cleanup[]
}>

const retentionMs = 30 * 86_400_000
/** Rows per statement, so that other writers are not blocked. */
const chunkSize = 1000

/** Deletes old rows; features have stored the results of commands when they ended. */
export const hostsJobs = (deps: HousekeepingDeps): Cron[] => [
  defineCron({
    key: 'housekeeping',
    expression: '50 3 * * *',
    description: 'Delete commands and leases after 30 days, closed alerts and events after 90 days, and evidence after two years',
    run: async ({ signal }) => {
      const gone = [plural(await deleteOldCommands(deps, signal), 'command'), plural(await deleteOldLeases(deps), 'lease')]
      for (const cleanup of deps.cleanups?.() ?? []) gone.push(await cleanup(signal))
      return `deleted ${gone.join(', ')}`
    },
  }),
]

async function deleteOldCommands({ db, clock, commandsInUse }: HousekeepingDeps, signal: AbortSignal): Promise<number> {
  const inUse = new Set(await commandsInUse(db))
  let after = ''
  let deleted = 0
  while (!signal.aborted) {
    const old = await db
      .selectFrom('commands')
      .select('id')
      .where('status', 'not in', openStatuses)
      .where('finished_at', '<=', isoIn(clock, -retentionMs))
      .where('id', '>', after)
      .orderBy('id')
      .limit(chunkSize)
      .execute()
    const gone = old.map(({ id }) => id).filter((id) => !inUse.has(id))
    if (gone.length > 0) deleted += Number((await db.deleteFrom('commands').where('id', 'in', gone).executeTakeFirst()).numDeletedRows)
    if (old.length < chunkSize) break
    after = old.at(-1)?.id ?? after
  }
  return deleted
}

/** The next lease starts again at token 1; no process with an older token is left after 30 days. */
async function deleteOldLeases({ db, clock }: HousekeepingDeps): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('leases').where('expires_at', '<=', isoIn(clock, -retentionMs)).executeTakeFirst()
  return Number(numDeletedRows)
}
