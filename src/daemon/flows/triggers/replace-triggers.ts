import { type BoardDefinition, boardLimits, boundRole, boundRoom, nextOccurrence, type Trigger } from '../../../core/boards/index.ts'
import { type Clock, isoNow, problem } from '../../../core/kit/index.ts'
import { headOf, type Tx } from '../../db/index.ts'
import { streamOf } from '../../events/index.ts'
import { closeEncryptionAlerts } from './encrypted-rooms.ts'
import { enqueueIfFailed } from './failed-starts.ts'
import { rowsOfBoard } from './triggers.repo.ts'
import type { BoardTriggerTable } from './triggers.tables.ts'

type Deps = Readonly<{ clock: Clock; timeZone: string }>

/** `definition`: of the published version; null once the board is archived. */
export type Published = Readonly<{ tenantId: string; boardId: string; spaceId: string | null; definition: BoardDefinition | null }>

/** Replaces the triggers of a board in the transaction that publishes or archives it. Throws CONFLICT for too many triggers of the tenant. */
export async function replaceTriggers(deps: Deps, tx: Tx, board: Published): Promise<void> {
  const { tenantId, boardId, definition } = board
  const before = await rowsOfBoard(tx, board)
  const triggers = definition?.triggers ?? []
  if (before.length === 0 && triggers.length === 0) return
  await tx.deleteFrom('board_triggers').where('tenant_id', '=', tenantId).where('board_id', '=', boardId).execute()
  const zone = await zoneOf(deps, tx, tenantId)
  const rows = triggers.map((trigger) => rowOf(deps, board, { trigger, zone, before }))
  if (rows.length > 0) await tx.insertInto('board_triggers').values(rows).execute()
  if (rows.length > before.length) await assertFewTriggers(tx, tenantId)
  await followEvents(tx, tenantId)
  if (rows.length === 0) await enqueueIfFailed(tx, deps.clock, { tenantId, boardId })
  if ([...before, ...rows].some(({ kind }) => kind === 'chat')) {
    await followChat(deps, tx, tenantId)
    await closeEncryptionAlerts(deps, tx, tenantId)
  }
}

async function assertFewTriggers(tx: Tx, tenantId: string): Promise<void> {
  const query = tx.selectFrom('board_triggers').where('tenant_id', '=', tenantId)
  const { count } = await query.select(({ fn }) => fn.countAll<string>().as('count')).executeTakeFirstOrThrow()
  const max = boardLimits.triggersOfTenant
  if (Number(count) <= max) return
  const message = `With this board the published boards of the tenant have ${count} triggers; the limit is ${max}`
  throw problem('CONFLICT', `${message}. fix: remove triggers, or archive boards that are not needed`)
}

type NewRow = Readonly<{ trigger: Trigger; zone: string; before: readonly BoardTriggerTable[] }>

function rowOf(
  { clock }: Deps,
  { tenantId, boardId, spaceId, definition }: Published,
  { trigger, zone, before }: NewRow,
): BoardTriggerTable {
  const { startRoles = [] } = definition ?? {}
  const roles = startRoles.map((ref) => (definition ? boundRole(definition, ref) : undefined))
  const room = trigger.kind === 'chat' && definition ? boundRoom(definition, trigger.room) : undefined
  const config = JSON.stringify(trigger)
  const roomId = room === undefined || room === 'space' ? null : room
  const isSame = (row: BoardTriggerTable) =>
    trigger.kind === 'chat'
      ? row.kind === 'chat' && row.room_id === roomId && row.space_id === spaceId
      : row.trigger_id === trigger.id && row.config === config
  return {
    ...{ board_id: boardId, trigger_id: trigger.id, tenant_id: tenantId, kind: trigger.kind, space_id: spaceId, config },
    room_id: roomId,
    roles: JSON.stringify(roles),
    ...scheduleOf(trigger, { zone, now: clock.now(), same: before.find(isSame) }),
  }
}

type Scheduled = Readonly<{ zone: string; now: Date; same: BoardTriggerTable | undefined }>

/** A time that is due at this moment is not lost by publishing again, nor is a message of a room that the board read before. */
function scheduleOf(trigger: Trigger, { zone, now, same }: Scheduled): Pick<BoardTriggerTable, 'served_until' | 'next_at' | 'time_zone'> {
  if (trigger.kind === 'event') return { served_until: null, next_at: null, time_zone: null }
  if (trigger.kind === 'chat') return { served_until: same ? same.served_until : now.toISOString(), next_at: null, time_zone: null }
  if (same) return { served_until: same.served_until, next_at: same.next_at, time_zone: same.time_zone }
  const next = nextOccurrence({ expression: trigger.expression, timeZone: zone }, now)
  return { served_until: now.toISOString(), next_at: next?.toISOString() ?? null, time_zone: zone }
}

async function zoneOf({ timeZone }: Deps, tx: Tx, tenantId: string): Promise<string> {
  const row = await tx.selectFrom('tenants').select('time_zone').where('id', '=', tenantId).executeTakeFirst()
  return row?.time_zone ?? timeZone
}

/** Events count from the publication on. A tenant without event triggers has no position. */
async function followEvents(tx: Tx, tenantId: string): Promise<void> {
  if (!(await hasKind(tx, tenantId, 'event'))) {
    await tx.deleteFrom('trigger_positions').where('tenant_id', '=', tenantId).execute()
    return
  }
  const seq = await headOf(tx, streamOf(tenantId))
  const insert = tx.insertInto('trigger_positions').values({ tenant_id: tenantId, seq })
  await insert.onConflict((c) => c.column('tenant_id').doNothing()).execute()
}

/** Messages count from the publication of the first chat trigger on. */
async function followChat({ clock }: Deps, tx: Tx, tenantId: string): Promise<void> {
  if (!(await hasKind(tx, tenantId, 'chat'))) {
    await tx.deleteFrom('chat_readers').where('tenant_id', '=', tenantId).execute()
    return
  }
  await tx
    .insertInto('chat_readers')
    .values({ tenant_id: tenantId, box_id: null, since: null, read_from: isoNow(clock), revision: 1 })
    .onConflict((c) => c.column('tenant_id').doUpdateSet((eb) => ({ revision: eb('chat_readers.revision', '+', 1) })))
    .execute()
}

const hasKind = async (tx: Tx, tenantId: string, kind: Trigger['kind']): Promise<boolean> =>
  (await tx
    .selectFrom('board_triggers')
    .select('board_id')
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', kind)
    .limit(1)
    .executeTakeFirst()) !== undefined
