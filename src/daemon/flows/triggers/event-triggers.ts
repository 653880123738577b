import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { sql } from 'kysely'
import { eventStarts, occurrenceKey } from '../../../core/boards/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { eventsAfter, type StoredEvent, skipLocked, type Tx } from '../../db/index.ts'
import { streamOf } from '../../events/index.ts'
import type { TriggersDeps } from './deps.ts'
import { enqueueFailedCheck } from './failed-starts.ts'
import { depthAfter, insertOccurrence } from './occurrences.repo.ts'
import { startOnce } from './start-once.ts'
import { type ActiveTrigger, isOfActiveTenant, triggersOf } from './triggers.repo.ts'

type Deps = Pick<TriggersDeps, 'db' | 'clock' | 'log' | 'startRun'>

const pageSize = 100

/**
 * Reads new events of all tenants with event triggers, one page of each tenant in turn. A page, its runs and the position of the tenant commit
 * in one transaction; a tenant whose page fails, or that has many events, delays no other.
 */
export async function readEvents(deps: Deps): Promise<void> {
  const failed = new Set<string>()
  for (let isMore = true; isMore; ) {
    isMore = false
    for (const tenantId of await tenantsBehind(deps)) {
      if (failed.has(tenantId)) continue
      try {
        if (await deps.db.transaction().execute((tx) => readPage(deps, tx, tenantId))) isMore = true
      } catch (err) {
        deps.log.warn({ err, tenantId }, 'events were not read for triggers; retrying')
        failed.add(tenantId)
      }
    }
  }
}

async function tenantsBehind({ db }: Deps): Promise<string[]> {
  const rows = await db
    .selectFrom('trigger_positions')
    .innerJoin('streams', (join) => join.on('streams.stream', '=', sql<string>`'tenant:' || trigger_positions.tenant_id`))
    .select('tenant_id')
    .whereRef('streams.seq', '>', 'trigger_positions.seq')
    .where(isOfActiveTenant('trigger_positions'))
    .execute()
  return rows.map(({ tenant_id }) => tenant_id)
}

/** Others wait for the transaction of a page. */
const maxPageMs = 1_000

/** Returns whether there may be more; false also while another replica reads this tenant. */
async function readPage(deps: Deps, tx: Tx, tenantId: string): Promise<boolean> {
  const query = tx.selectFrom('trigger_positions').select('seq').where('tenant_id', '=', tenantId)
  const position = await query.modifyEnd(skipLocked(tx)).executeTakeFirst()
  if (!position) return false
  const page = await eventsAfter(tx, { stream: streamOf(tenantId), after: Number(position.seq), limit: pageSize })
  const last = page.at(-1)
  if (!last) return false
  const triggers = await triggersOf(tx, { tenantId, kind: 'event' })
  const begun = deps.clock.monotonicMs()
  const isLate = () => deps.clock.monotonicMs() - begun > maxPageMs
  let seq = Number(position.seq)
  for (const event of page) {
    const fitting = triggers.filter(({ trigger }) => trigger.eventType === event.eventType)
    for (const active of fitting) {
      const isNew = await startIfFits(deps, tx, { active, event })
      await yieldToEventLoop() // expressions of one tenant delay no request of another
      // The next page reads this event again: what it started is stored, so each page starts something new.
      if (isNew && active !== fitting.at(-1) && isLate()) return storePosition(tx, { tenantId, seq })
    }
    seq = event.seq
    if (isLate()) break
  }
  await storePosition(tx, { tenantId, seq })
  return page.length === pageSize || seq !== last.seq
}

/** Returns true: there is more to read. */
async function storePosition(tx: Tx, { tenantId, seq }: Readonly<{ tenantId: string; seq: number }>): Promise<true> {
  await tx.updateTable('trigger_positions').set({ seq }).where('tenant_id', '=', tenantId).execute()
  return true
}

type Fit = Readonly<{ active: ActiveTrigger<'event'>; event: StoredEvent }>

/** Returns whether it started a run, or recorded why not, for the first time. */
async function startIfFits(deps: Deps, tx: Tx, { active, event }: Fit): Promise<boolean> {
  const { tenantId, boardId, spaceId, trigger } = active
  const occurrence = occurrenceKey({ kind: 'event', triggerId: trigger.id, seq: event.seq })
  try {
    if (!eventStarts(trigger, spaceId ?? '', event)) return false
  } catch (error) {
    return recordUndecided(deps, tx, {
      active,
      occurrence,
      reason: `the expression ${trigger.expression} has no value: ${(error as Error).message}`,
    })
  }
  const depth = await depthAfter(tx, { tenantId, event })
  const run = { tenantId, boardId, spaceId, variables: {}, startedBy: null, trigger: { type: 'event', occurrence } } as const
  return (await startOnce(deps, tx, { ...run, triggerId: trigger.id, depth })) !== undefined
}

type Undecided = Readonly<{ active: ActiveTrigger<'event'>; occurrence: string; reason: string }>

async function recordUndecided({ clock }: Deps, tx: Tx, { active, occurrence, reason }: Undecided): Promise<boolean> {
  const { tenantId, boardId, trigger } = active
  const failed = { outcome: 'failed', runId: null, depth: 0, roomId: null, reason } as const
  const seen = { tenantId, boardId, occurrence, triggerId: trigger.id, kind: 'event', ...failed, at: isoNow(clock) } as const
  const isNew = await insertOccurrence(tx, seen)
  if (isNew) await enqueueFailedCheck(tx, clock, { tenantId, boardId })
  return isNew
}
