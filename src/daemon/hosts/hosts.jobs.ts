import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import { type DefinedJob, defineJob } from '../crons/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { openStatuses } from './expire-commands.ts'

export type HousekeepingDeps = Readonly<{
  db: Db
  clock: Clock
  /** Commands that a room still reads, however old they are: a paused rollout goes on with what its command brought. */
  commandsInUse(db: DbOrTx): Promise<readonly string[]>
  /** What other rooms clear away of their own; each says what it was. */
  others?: readonly ((signal: AbortSignal) => Promise<string>)[]
}>

const keptMs = 30 * 86_400_000
/** Rows per statement: others want to write too. */
const chunkSize = 1000

/** What grows by itself is cleared away once nobody can need it: rooms have taken over what commands brought when they ended. */
export const hostsJobs = (deps: HousekeepingDeps): DefinedJob[] => [
  defineJob({
    key: 'housekeeping',
    expression: '50 3 * * *',
    description:
      'Deletes commands that ended 30 days ago, leases that nobody has held since, alerts that were seen to and events of 90 days ago, events of rollouts that ended 90 days ago, and evidence of two years ago',
    run: async ({ signal }) => {
      const gone = [plural(await forgetCommands(deps, signal), 'command'), plural(await forgetLeases(deps), 'lease')]
      for (const forget of deps.others ?? []) gone.push(await forget(signal))
      return `deleted ${gone.join(', ')}`
    },
  }),
]

async function forgetCommands({ db, clock, commandsInUse }: HousekeepingDeps, signal: AbortSignal): Promise<number> {
  const inUse = new Set(await commandsInUse(db))
  let after = ''
  let deleted = 0
  while (!signal.aborted) {
    const old = await db
      .selectFrom('commands')
      .select('id')
      .where('status', 'not in', openStatuses)
      .where('finished_at', '<=', isoIn(clock, -keptMs))
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

/** The next owner's token begins at 1 again; no process is left that an older one would have fenced out. */
async function forgetLeases({ db, clock }: HousekeepingDeps): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('leases').where('expires_at', '<=', isoIn(clock, -keptMs)).executeTakeFirst()
  return Number(numDeletedRows)
}
