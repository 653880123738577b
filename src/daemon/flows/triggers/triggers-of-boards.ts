import { type BoardDefinition, roomOfTrigger, type TriggerPlace } from '../../../core/boards/index.ts'
import type { Homeservers } from '../../../core/homeserver/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import type { Db, Tx } from '../../db/index.ts'
import { readEncryption } from './encrypted-rooms.ts'
import { type Published, replaceTriggers } from './replace-triggers.ts'
import { activeTenant } from './triggers.repo.ts'

type Deps = Readonly<{ clock: Clock; timeZone: string; homeservers: Homeservers }>
type Board = Readonly<{ tenantId: string; spaceId: string | null; definition: BoardDefinition }>

/** The ports of boards to their triggers. */
export const triggersOfBoards = (deps: Deps) => ({
  triggerPlace: (db: Db, board: Board) => placeOf(deps, db, board),
  replaceTriggers: (tx: Tx, board: Published) => replaceTriggers(deps, tx, board),
})

/** Reads what decides whether triggers can be used. Only boards with chat triggers cost calls to the chat server. */
async function placeOf({ clock, timeZone, homeservers }: Deps, db: Db, { tenantId, spaceId, definition }: Board): Promise<TriggerPlace> {
  const roomId = spaceId === null ? null : await roomOfSpace(db, tenantId, spaceId)
  const chat = definition.triggers.filter((trigger) => trigger.kind === 'chat')
  const roomIds = chat.map((trigger) => roomOfTrigger(definition, trigger, { roomId })).filter((room) => room !== undefined)
  const encryption = await readEncryption({ homeservers }, { tenantId, roomIds })
  const zone = (await activeTenant(db, tenantId))?.timeZone ?? timeZone
  return { spaceId, roomId, ...encryption, timeZone: zone, now: clock.now() }
}

async function roomOfSpace(db: Db, tenantId: string, spaceId: string): Promise<string | null> {
  const query = db.selectFrom('spaces').select('chat_room_id').where('tenant_id', '=', tenantId).where('id', '=', spaceId)
  return (await query.where('deleted_at', 'is', null).executeTakeFirst())?.chat_room_id ?? null
}
