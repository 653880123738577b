import type { MoveState, RemovalState } from '../../../core/boxes/index.ts'

export type BoxMoveTable = {
  id: string
  box_id: string
  from_host_id: string
  to_host_id: string
  from_first_port: number | null
  to_first_port: number
  /** Whether that host may have containers and volumes of the box that are not the box itself; its ports are taken then. */
  from_copy: number
  to_copy: number
  state: MoveState
  old_host_dead: number
  epoch: number
  snapshot_id: string | null
  snapshot_sha256: string | null
  snapshot_at: string | null
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

export type BoxRemovalTable = {
  id: string
  box_id: string
  host_id: string
  state: RemovalState
  epoch: number
  snapshot_id: string | null
  erase_now: number
  reason: string
  asked_by: string
  orders: number
  command_id: string | null
  error: string | null
  started_at: string
  changed_at: string
  keep_until: string | null
  finished_at: string | null
}

declare module '../../db/database.ts' {
  interface Tables {
    box_moves: BoxMoveTable
    box_removals: BoxRemovalTable
  }
}
