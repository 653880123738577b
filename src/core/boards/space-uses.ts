import { type BoardDefinition, type BoardElement, boundRoom, type RoomRef } from './definition.ts'

/** A place where a board reads or writes in a space. `room` null: the space of the board. */
export type SpaceUse = Readonly<{
  type: 'read' | 'write'
  path: string
  elementId: string | null
  room: string | null
  key: string
}>

/**
 * Every place where a board reads the chat or the events of a space, or writes messages and files into one. Two uses with the same key do the
 * same: a member who accepted a message has not accepted a trigger, nor another trigger.
 */
export function spaceUsesOf(board: BoardDefinition): SpaceUse[] {
  const roomOf = (ref: RoomRef): string | null | undefined => {
    const room = boundRoom(board, ref)
    return room === 'space' ? null : room
  }
  const writes = board.elements.flatMap((element) => {
    const room = 'room' in element.config ? roomOf(element.config.room) : writesFiles(element) ? null : undefined
    if (room === undefined) return []
    const path = `elements.${element.id}${'room' in element.config ? '.room' : ''}`
    return [{ type: 'write' as const, path, elementId: element.id, room, key: `write ${room ?? 'space'}` }]
  })
  const reads = board.triggers.flatMap((trigger) => {
    const room = trigger.kind === 'chat' ? roomOf(trigger.room) : trigger.kind === 'event' ? null : undefined
    if (room === undefined) return []
    // Another phrase or variable reads something else.
    const key = `read ${room ?? 'space'} ${JSON.stringify(trigger)}`
    return [{ type: 'read' as const, path: `triggers.${trigger.id}`, elementId: null, room, key }]
  })
  return [...writes, ...reads]
}

const writesFiles = ({ kind, config }: BoardElement): boolean =>
  kind === 'report' || (kind === 'form' && config.fields.some((field) => field.kind === 'file' || field.kind === 'signature'))
