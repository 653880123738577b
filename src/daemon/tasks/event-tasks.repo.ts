import { sql } from 'kysely'
import type { PageEnd } from '../../core/contract/index.ts'
import { unfinished } from '../../core/tasks/index.ts'
import { type DbOrTx, newestFirst } from '../db/index.ts'
import { type TaskRecord, toTask } from './tasks.repo.ts'

type Outer = Readonly<{ tenantId: string; eventId: string | null; externalId: string }>

export async function taskByExternalId(db: DbOrTx, { tenantId, eventId, externalId }: Outer): Promise<TaskRecord | undefined> {
  const row = await db
    .selectFrom('tasks')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where(sql`coalesce(event_id, '')`, '=', eventId ?? '') // as the index has it
    .where('external_id', '=', externalId)
    .executeTakeFirst()
  return row && toTask(row)
}

type OfEvent = Readonly<{ tenantId: string; eventId: string; unfinishedOnly: boolean; after?: PageEnd | undefined; limit: number }>

/** Tasks of an event, newest first. */
export async function tasksOfEvent(db: DbOrTx, { tenantId, eventId, unfinishedOnly, after, limit }: OfEvent): Promise<TaskRecord[]> {
  let query = db.selectFrom('tasks').selectAll().where('tenant_id', '=', tenantId).where(sql`coalesce(event_id, '')`, '=', eventId) // as the index has it
  if (unfinishedOnly) query = query.where('status', 'in', [...unfinished])
  return (await newestFirst(query, { after, limit }).execute()).map(toTask)
}

/** Number of all tasks of an event, and of its unfinished ones. */
export async function countTasksOfEvent(
  db: DbOrTx,
  { tenantId, eventId }: Pick<OfEvent, 'tenantId' | 'eventId'>,
): Promise<Readonly<{ all: number; unfinished: number }>> {
  const counted = db.selectFrom('tasks').select(({ fn, eb }) => [
    fn.countAll().as('all'),
    fn
      .count(
        eb
          .case()
          .when('status', 'in', [...unfinished])
          .then(1)
          .end(),
      )
      .as('unfinished'),
  ])
  const ofEvent = counted.where('tenant_id', '=', tenantId).where(sql`coalesce(event_id, '')`, '=', eventId)
  const row = await ofEvent.executeTakeFirstOrThrow()
  return { all: Number(row.all), unfinished: Number(row.unfinished) }
}
