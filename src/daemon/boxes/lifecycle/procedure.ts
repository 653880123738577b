import type { BoxId } from '../../../core/boxes/index.ts'
import type { ProcedureColumns } from '../boxes.tables.ts'

/** What a move and a removal have in common: a way of a box that takes several commands, and is written down as it goes. */
export type Procedure<State extends string> = Readonly<{
  id: string
  boxId: BoxId
  state: State
  epoch: number
  reason: string
  by: string
  orders: number
  commandId: string | null
  error: Readonly<{ code: string; message: string }> | null
  startedAt: string
  changedAt: string
  keepUntil: string | null
}>

export const toProcedure = <State extends string>(row: ProcedureColumns<State>): Procedure<State> => ({
  id: row.id,
  boxId: row.box_id as BoxId,
  state: row.state,
  epoch: row.epoch,
  reason: row.reason,
  by: row.asked_by,
  orders: row.orders,
  commandId: row.command_id,
  error: row.error === null ? null : JSON.parse(row.error),
  startedAt: row.started_at,
  changedAt: row.changed_at,
  keepUntil: row.keep_until,
})

export const procedureColumns = <State extends string>(way: Procedure<State>, isOver: boolean): ProcedureColumns<State> => ({
  id: way.id,
  box_id: way.boxId,
  state: way.state,
  epoch: way.epoch,
  reason: way.reason,
  asked_by: way.by,
  orders: way.orders,
  command_id: way.commandId,
  error: way.error && JSON.stringify(way.error),
  started_at: way.startedAt,
  changed_at: way.changedAt,
  keep_until: way.keepUntil,
  finished_at: isOver ? way.changedAt : null,
})

/** What the wire shows of either. */
export const procedureView = <State extends string>(way: Procedure<State>, isOver: boolean) => ({
  state: way.state,
  reason: way.reason,
  by: way.by,
  commandId: way.commandId,
  error: way.error,
  startedAt: way.startedAt,
  changedAt: way.changedAt,
  keepUntil: way.keepUntil,
  finishedAt: isOver ? way.changedAt : null,
})
