import { sketch } from '../../../core/boards/sketch.ts'
import { aSpace, type TasksWorld } from '../../../support/tasks-world.ts'

/** Saves and publishes a sketched board as mia, and returns its id. Elements are for teachers unless configured otherwise. */
export async function aBoard(room: TasksWorld, ...[text, configs = {}, more = {}]: Parameters<typeof sketch>): Promise<string> {
  const checkpoints = [...text.matchAll(/\bc\d+/g)].map(([id]) => [id, { assignedRole: 'school-principal', ...configs[id] }] as const)
  const definition = sketch(text, { ...configs, ...Object.fromEntries(checkpoints) }, more)
  const board = await room.as('mia').createBoard({ body: { name: 'Crisis', definition } })
  await room.as('mia').publishBoard({ params: { id: board.id } })
  return board.id
}

/** Starts a run as anna, and returns it. */
export const aRun = (room: TasksWorld, boardId: string, body: Parameters<ReturnType<TasksWorld['as']>['startRun']>[0]['body'] = {}) =>
  room.as('anna').startRun({ params: { id: boardId }, body })

/** Stores a space with a chat room, of which anna is a member. */
export async function storedSpace(room: TasksWorld, id: string, roomId = '!room:one'): Promise<void> {
  const at = '2026-01-05T00:00:00.000Z'
  const names = { id, tenant_id: 'ten_one', name: id, type: 'CLASSROOM', visibility: 'PRIVATE' } as const
  const chat = { revision: 1, chat_revision: 1, chat_space_id: `!s${id}:one`, chat_room_id: roomId }
  const times = { created_at: at, updated_at: at, created_by: 'anna', deleted_at: null }
  await room.db
    .insertInto('spaces')
    .values({ ...names, ...chat, ...times } as never)
    .execute()
  await joined(room, 'anna', id)
}

/** Makes a user a member of stored spaces. */
export async function joined(room: TasksWorld, who: string, ...ids: string[]): Promise<void> {
  room.spaces.set(who, [...(room.spaces.get(who) ?? []), ...ids.map((id) => aSpace(id))])
  const rest = {
    tenant_id: 'ten_one',
    role: 'member',
    joined_at: '2026-01-05T00:00:00.000Z',
    chat_joined_at: null,
    chat_refused_at: null,
  } as const
  await room.db
    .insertInto('space_members')
    .values(ids.map((id) => ({ space_id: id, user_id: who, ...rest })))
    .execute()
}
