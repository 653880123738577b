import type { MoveState, RemovalState } from '../../../core/boxes/index.ts'

/** What is written down of every way of a box. */
export type WayColumns<State extends string> = {
  id: string
  box_id: string
  state: State
  epoch: number
  reason: string
  asked_by: string
  /** How many commands were given: each has its own id. */
  orders: number
  command_id: string | null
  error: string | null
  started_at: string
  changed_at: string
  keep_until: string | null
  finished_at: string | null
}

export type BoxMoveTable = WayColumns<MoveState> & {
  from_host_id: string
  to_host_id: string
  from_first_port: number | null
  to_first_port: number
  /** Whether that host may have containers and volumes of the box that are not the box itself; its ports are taken then. */
  from_copy: number
  to_copy: number
  old_host_dead: number
  snapshot_id: string | null
  snapshot_sha256: string | null
  snapshot_at: string | null
}

export type BoxRemovalTable = WayColumns<RemovalState> & {
  host_id: string
  snapshot_id: string | null
  erase_now: number
}

declare module '../../db/database.ts' {
  interface Tables {
    box_moves: BoxMoveTable
    box_removals: BoxRemovalTable
  }
}
