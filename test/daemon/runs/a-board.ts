import { sketch } from '../../core/boards/sketch.ts'
import type { TasksRoom } from '../../support/tasks-room.ts'

/** Saves and publishes a sketched board as mia, and returns its id. Elements are for teachers unless configured otherwise. */
export async function aBoard(room: TasksRoom, ...[text, configs = {}, more = {}]: Parameters<typeof sketch>): Promise<string> {
  const checkpoints = [...text.matchAll(/\bc\d+/g)].map(([id]) => [id, { assignedRole: 'school-principal', ...configs[id] }] as const)
  const definition = sketch(text, { ...configs, ...Object.fromEntries(checkpoints) }, more)
  const board = await room.as('mia').createBoard({ body: { name: 'Crisis', definition } })
  await room.as('mia').publishBoard({ params: { id: board.id } })
  return board.id
}

/** Starts a run as anna, and returns it. */
export const aRun = (room: TasksRoom, boardId: string, body: Parameters<ReturnType<TasksRoom['as']>['startRun']>[0]['body'] = {}) =>
  room.as('anna').startRun({ params: { id: boardId }, body })
