import { typesNear } from '../events/index.ts'
import { hasWords } from './chat-trigger.ts'
import { cronFault } from './cron-trigger.ts'
import { type BoardDefinition, boundRoom, type Trigger, type TriggerOf } from './definition.ts'
import { eventExpressionFault, isTriggerEvent } from './event-trigger.ts'
import { type BoardFinding, error, quote } from './finding.ts'

/** Where the runs of a board happen. `unknownRooms`: whether they are encrypted could not be read. */
export type TriggerPlace = Readonly<{
  spaceId: string | null
  /** The room of the space; null while it is being made, or without a space. */
  roomId: string | null
  encryptedRooms: ReadonlySet<string>
  unknownRooms: ReadonlySet<string>
  timeZone: string
  now: Date
}>

/** The room that a chat trigger reads; undefined if it has none. */
export function roomOfTrigger(
  board: Pick<BoardDefinition, 'bindings'>,
  { room }: TriggerOf<'chat'>,
  place: Pick<TriggerPlace, 'roomId'>,
): string | undefined {
  const bound = boundRoom(board, room)
  return bound === 'space' ? (place.roomId ?? undefined) : bound
}

type Context = Readonly<{ place: TriggerPlace | undefined; rooms: ReadonlySet<string> }>

/** Triggers that could never start a run, or not a run of this board. Without a place (a template) only what a template decides is checked. */
export function checkTriggers(board: BoardDefinition, context: Context): BoardFinding[] {
  const ids = board.triggers.map(({ id }) => id)
  const twice = [...new Set(ids.filter((id, nth) => ids.indexOf(id) !== nth))]
  return [
    ...twice.map((id) => error('TRIGGER_REPEATED', null, `the id ${id} is used for more than one trigger`)),
    ...board.triggers.flatMap((trigger) => [...checkTrigger(board, trigger, context), ...checkVariables(board, trigger)]),
  ]
}

function checkTrigger(board: BoardDefinition, trigger: Trigger, { place, rooms }: Context): BoardFinding[] {
  const name = `trigger ${trigger.id}`
  const spaceless =
    place?.spaceId === null ? [error('TRIGGER_SPACE', null, `${name} needs the space of its runs. fix: set spaceId of the board`)] : []
  if (trigger.kind === 'event') return [...checkEvent(trigger), ...spaceless]
  if (trigger.kind === 'chat') return [...checkPhrases(trigger), ...(place ? checkRoom(board, trigger, { place, rooms }) : [])]
  const fault = cronFault(trigger.expression, place?.now ?? new Date(0))
  const message = `${name}: the cron expression "${trigger.expression}" is not valid: ${fault}. fix: use five fields such as 0 8 * * 1-5`
  return [...(fault === undefined ? [] : [error('CRON_INVALID', null, message)]), ...spaceless]
}

function checkEvent({ id, eventType, expression }: TriggerOf<'event'>): BoardFinding[] {
  if (!isTriggerEvent(eventType)) return [error('EVENT_UNKNOWN', null, `trigger ${id}: ${unknownEvent(eventType)}`)]
  const fault = expression === null ? undefined : eventExpressionFault(expression)
  if (expression === null || fault === undefined) return []
  return [error('EXPRESSION_INVALID', null, `trigger ${id}: the expression \`${quote(expression)}\` ${quote(fault)}`)]
}

function unknownEvent(eventType: string): string {
  const near = typesNear(eventType)
  const fix = near.length === 0 ? 'use a stored type, such as task.updated' : `use ${near.join(' or ')}`
  return `no event of the type ${eventType} starts runs. fix: ${fix}`
}

const checkPhrases = ({ id, phrases }: TriggerOf<'chat'>): BoardFinding[] =>
  phrases
    .filter((phrase) => !hasWords(phrase))
    .map((phrase) => error('PHRASE_EMPTY', null, `trigger ${id}: ${JSON.stringify(phrase)} has no word. fix: use letters or digits`))

type Placed = Readonly<{ place: TriggerPlace; rooms: ReadonlySet<string> }>

/** Only rooms that the platform makes: unencrypted, and members cannot change that. */
function checkRoom(board: BoardDefinition, trigger: TriggerOf<'chat'>, { place, rooms }: Placed): BoardFinding[] {
  const room = roomOfTrigger(board, trigger, place)
  const name = `trigger ${trigger.id}`
  if (room === undefined) return [error('ROOM_MISSING', null, `${name} has no room. ${fixOf(board, trigger, place)}`)]
  if (!rooms.has(room)) return [error('ROOM_UNKNOWN', null, `${name}: the room ${room} is not a room of a space of this tenant`)]
  if (place.encryptedRooms.has(room))
    return [error('ROOM_ENCRYPTED', null, `${name}: the room ${room} is encrypted, so its messages cannot be read. fix: use another room`)]
  if (!place.unknownRooms.has(room)) return []
  return [error('ROOM_UNREAD', null, `${name}: the chat server does not say whether the room ${room} is encrypted. fix: try again later`)]
}

function fixOf(board: BoardDefinition, { room }: TriggerOf<'chat'>, { spaceId }: TriggerPlace): string {
  if (boundRoom(board, room) !== 'space') return 'fix: set its parameter in bindings'
  return spaceId === null ? 'fix: set spaceId of the board, or name a room' : 'The room of the space is being made. fix: try again soon'
}

/** A trigger can set the text of a message only, so no other variable may be required. */
function checkVariables({ variables }: BoardDefinition, trigger: Trigger): BoardFinding[] {
  const set = trigger.kind === 'chat' ? trigger.textVariable : null
  const missing = variables.filter(({ name, required }) => required && name !== set)
  const target = variables.find(({ name }) => name === set)
  return [
    ...missing.map(({ name }) =>
      error('TRIGGER_VARIABLE', null, `trigger ${trigger.id} cannot set the required variable ${name}. fix: make it optional`),
    ),
    ...(set !== null && target?.type !== 'text'
      ? [
          error(
            'TRIGGER_VARIABLE',
            null,
            `trigger ${trigger.id}: ${set} is not a start variable of the type text. fix: add it to variables`,
          ),
        ]
      : []),
  ]
}
