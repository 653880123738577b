import type { Trigger } from '../../../core/boards/index.ts'

export type BoardTriggerTable = {
  board_id: string
  trigger_id: string
  tenant_id: string
  kind: Trigger['kind']
  /** The space of the board. */
  space_id: string | null
  /** A room that a chat trigger names; null: the room of the space. */
  room_id: string | null
  /** JSON of the trigger. */
  config: string
  /** JSON array of the roles that may start the board; empty: every user. */
  roles: string
  /** Times of a cron up to here were handled. Messages of a room before it start nothing; null: those since the reader began. */
  served_until: string | null
  /** The next time of a cron, computed in `time_zone`. */
  next_at: string | null
  time_zone: string | null
}

/** An occurrence of a trigger. The key is unique per board, so it starts at most one run. */
export type TriggerOccurrenceTable = {
  board_id: string
  occurrence: string
  tenant_id: string
  trigger_id: string
  kind: Trigger['kind']
  outcome: 'started' | 'missed' | 'failed' | 'loop' | 'skipped'
  run_id: string | null
  /** How many runs led to this one by their events. */
  depth: number
  room_id: string | null
  /** Why no run started. */
  reason: string | null
  at: string
}

type TriggerPositionTable = {
  tenant_id: string
  /** The last event that was read. */
  seq: number
}

/** Tenants with chat triggers. */
export type ChatReaderTable = {
  tenant_id: string
  /** The box whose messages are read. */
  box_id: string | null
  /** The sync token; null: reading begins with the newest messages. */
  since: string | null
  /** Messages before this time start nothing. */
  read_from: string
  /** Counts changes of the triggers. */
  revision: number
}

declare module '../../db/database.ts' {
  interface Tables {
    board_triggers: BoardTriggerTable
    trigger_occurrences: TriggerOccurrenceTable
    trigger_positions: TriggerPositionTable
    chat_readers: ChatReaderTable
  }
}
