import { type RawBuilder, sql } from 'kysely'
import type { Trigger, TriggerOf } from '../../../core/boards/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoardTriggerTable } from './triggers.tables.ts'

/** A trigger of the published version of a board. */
export type ActiveTrigger<Kind extends Trigger['kind']> = Readonly<{
  tenantId: string
  boardId: string
  spaceId: string | null
  roles: readonly string[]
  trigger: TriggerOf<Kind>
}>

export const toActive = <Kind extends Trigger['kind']>(row: BoardTriggerTable): ActiveTrigger<Kind> => ({
  tenantId: row.tenant_id,
  boardId: row.board_id,
  spaceId: row.space_id,
  roles: JSON.parse(row.roles),
  trigger: JSON.parse(row.config),
})

/** SQL condition: the tenant of the row is active. A subquery for each row, so that no plan reads all tenants. */
export const isOfActiveTenant = (table: 'trigger_positions' | 'chat_readers'): RawBuilder<boolean> =>
  sql<boolean>`(select status from tenants where id = ${sql.ref(`${table}.tenant_id`)}) = 'active'`

type OfTenant<Kind> = Readonly<{ tenantId: string; kind: Kind }>

export async function triggersOf<Kind extends Trigger['kind']>(
  db: DbOrTx,
  { tenantId, kind }: OfTenant<Kind>,
): Promise<ActiveTrigger<Kind>[]> {
  const rows = await db
    .selectFrom('board_triggers')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', kind)
    .orderBy('board_id')
    .orderBy('trigger_id')
    .execute()
  return rows.map(toActive<Kind>)
}

/** A chat trigger with the room that it reads and the space of that room. `readFrom`: when the board began to read it, if known. */
export type RoomTrigger = ActiveTrigger<'chat'> & Readonly<{ roomId: string; roomSpaceId: string; readFrom: string | null }>

/** Triggers without a room, such as of a deleted space, are left out. */
export async function roomTriggersOf(db: DbOrTx, tenantId: string): Promise<RoomTrigger[]> {
  const rows = await db
    .selectFrom('board_triggers')
    .innerJoin('spaces', (join) =>
      join
        .onRef('spaces.tenant_id', '=', 'board_triggers.tenant_id')
        .on((on) =>
          on.or([
            on('spaces.chat_room_id', '=', on.ref('board_triggers.room_id')),
            on.and([on('board_triggers.room_id', 'is', null), on('spaces.id', '=', on.ref('board_triggers.space_id'))]),
          ]),
        ),
    )
    .selectAll('board_triggers')
    .select(['spaces.id as room_space_id', 'spaces.chat_room_id'])
    .where('board_triggers.tenant_id', '=', tenantId)
    .where('kind', '=', 'chat')
    .where('spaces.deleted_at', 'is', null)
    .where('spaces.chat_room_id', 'is not', null)
    .orderBy('board_id')
    .orderBy('trigger_id')
    .execute()
  return rows.map((row) => ({
    ...toActive<'chat'>(row),
    ...{ roomId: row.chat_room_id as string, roomSpaceId: row.room_space_id, readFrom: row.served_until },
  }))
}

export async function rowsOfBoard(
  tx: Tx,
  { tenantId, boardId }: Readonly<{ tenantId: string; boardId: string }>,
): Promise<BoardTriggerTable[]> {
  return tx.selectFrom('board_triggers').selectAll().where('tenant_id', '=', tenantId).where('board_id', '=', boardId).execute()
}

/** The zone and slug of a tenant whose triggers may start runs; undefined while it is suspended. */
export async function activeTenant(
  db: DbOrTx,
  tenantId: string,
): Promise<Readonly<{ slug: string; chatDomain: string; timeZone: string | null }> | undefined> {
  const row = await db
    .selectFrom('tenants')
    .select(['slug', 'chat_domain', 'time_zone'])
    .where('id', '=', tenantId)
    .where('status', '=', 'active')
    .executeTakeFirst()
  return row && { slug: row.slug, chatDomain: row.chat_domain, timeZone: row.time_zone }
}
