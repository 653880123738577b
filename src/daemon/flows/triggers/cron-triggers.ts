import { dueOccurrences, nextOccurrence, occurrenceKey } from '../../../core/boards/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type DbOrTx, skipLocked, type Tx } from '../../db/index.ts'
import type { TriggersDeps } from './deps.ts'
import { insertOccurrence } from './occurrences.repo.ts'
import { startOnce } from './start-once.ts'
import { type ActiveTrigger, toActive } from './triggers.repo.ts'
import type { BoardTriggerTable } from './triggers.tables.ts'

type Deps = Pick<TriggersDeps, 'db' | 'clock' | 'log' | 'startRun' | 'timeZone'>
type Key = Readonly<{ boardId: string; triggerId: string }>

/** Starts the runs of all cron triggers that are due. Each trigger is one transaction, so replicas share them and a failing one delays no other. */
export async function runDueCrons(deps: Deps): Promise<void> {
  await runAll(deps, await activeCrons(deps).where('next_at', '<=', isoNow(deps.clock)).orderBy('next_at').execute())
}

/** Computes the next times of cron triggers whose tenant is in another time zone since they were computed. */
export async function followTimeZones(deps: Deps): Promise<void> {
  const moved = activeCrons(deps).where(({ eb, fn, val }) =>
    eb('board_triggers.time_zone', '!=', fn.coalesce('tenants.time_zone', val(deps.timeZone))),
  )
  await runAll(deps, await moved.execute())
}

/** Not limited: failing triggers stay due, and would block others. */
const activeCrons = ({ db }: Pick<Deps, 'db'>) =>
  db
    .selectFrom('board_triggers')
    .innerJoin('tenants', 'tenants.id', 'board_triggers.tenant_id')
    .select(['board_id as boardId', 'trigger_id as triggerId'])
    .where('kind', '=', 'cron')
    .where('tenants.status', '=', 'active')

async function runAll(deps: Deps, keys: readonly Key[]): Promise<void> {
  for (const key of keys)
    await deps.db
      .transaction()
      .execute((tx) => runOne(deps, tx, key))
      .catch((err) => deps.log.warn({ err, ...key }, 'a cron trigger failed; retrying'))
}

async function runOne(deps: Deps, tx: Tx, key: Key): Promise<void> {
  const row = await lockDue(deps, tx, key)
  if (!row) return
  const { zone } = row
  const active = toActive<'cron'>(row)
  const schedule = { expression: active.trigger.expression, timeZone: zone }
  const now = deps.clock.now()
  // In another time zone the times before now were not those of the trigger: none of them is due or missed.
  const isMoved = row.time_zone !== zone && (row.next_at === null || row.next_at > now.toISOString())
  const { start, missed } = dueOccurrences(schedule, { after: isMoved ? now : new Date(row.served_until ?? now), now })
  for (const at of missed) await recordMissed(tx, active, at)
  if (start) await startOnce(deps, tx, runAt(active, start))
  await tx
    .updateTable('board_triggers')
    .set({ served_until: now.toISOString(), next_at: nextOccurrence(schedule, now)?.toISOString() ?? null, time_zone: zone })
    .where('tenant_id', '=', active.tenantId)
    .where('board_id', '=', active.boardId)
    .where('trigger_id', '=', active.trigger.id)
    .execute()
}

/** Triggers that are due, or whose tenant is in another time zone since their next time was computed. */
const selectDue = ({ clock, timeZone }: Deps, db: DbOrTx) =>
  db
    .selectFrom('board_triggers')
    .innerJoin('tenants', 'tenants.id', 'board_triggers.tenant_id')
    .where('kind', '=', 'cron')
    .where('tenants.status', '=', 'active')
    .where(({ eb, or, fn, val }) =>
      or([eb('next_at', '<=', isoNow(clock)), eb('board_triggers.time_zone', '!=', fn.coalesce('tenants.time_zone', val(timeZone)))]),
    )

/** Undefined if another replica runs it or has run it. */
async function lockDue(deps: Deps, tx: Tx, { boardId, triggerId }: Key): Promise<(BoardTriggerTable & { zone: string }) | undefined> {
  const query = selectDue(deps, tx)
    .selectAll('board_triggers')
    .select(({ fn, val }) => fn.coalesce('tenants.time_zone', val(deps.timeZone)).as('zone'))
    .where('board_id', '=', boardId)
    .where('trigger_id', '=', triggerId)
  const row = await query.modifyEnd(skipLocked(tx, 'board_triggers')).executeTakeFirst()
  return row && { ...row, zone: row.zone as string }
}

const keyOf = ({ trigger }: ActiveTrigger<'cron'>, at: Date) => occurrenceKey({ kind: 'cron', triggerId: trigger.id, at })

const runAt = (active: ActiveTrigger<'cron'>, at: Date) => ({
  ...{ tenantId: active.tenantId, boardId: active.boardId, triggerId: active.trigger.id, spaceId: active.spaceId },
  ...{ variables: {}, startedBy: null, depth: 0, trigger: { type: 'cron' as const, occurrence: keyOf(active, at) } },
})

async function recordMissed(tx: Tx, active: ActiveTrigger<'cron'>, at: Date): Promise<void> {
  const { tenantId, boardId, trigger } = active
  const reason = 'no daemon ran, or the tenant was suspended, at this time and for an hour after it'
  const seen = { kind: 'cron', outcome: 'missed', runId: null, depth: 0, roomId: null, reason, at: at.toISOString() } as const
  await insertOccurrence(tx, { tenantId, boardId, occurrence: keyOf(active, at), triggerId: trigger.id, ...seen })
}
