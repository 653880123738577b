import type { BoxId } from '../../../core/boxes/index.ts'
import type { ProcedureColumns } from '../boxes.tables.ts'

/** A move or a removal: a stored procedure of several commands. */
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

export const procedureColumns = <State extends string>(procedure: Procedure<State>, isFinished: boolean): ProcedureColumns<State> => ({
  id: procedure.id,
  box_id: procedure.boxId,
  state: procedure.state,
  epoch: procedure.epoch,
  reason: procedure.reason,
  asked_by: procedure.by,
  orders: procedure.orders,
  command_id: procedure.commandId,
  error: procedure.error && JSON.stringify(procedure.error),
  started_at: procedure.startedAt,
  changed_at: procedure.changedAt,
  keep_until: procedure.keepUntil,
  finished_at: isFinished ? procedure.changedAt : null,
})

/** The fields that both have on the wire. */
export const procedureView = <State extends string>(procedure: Procedure<State>, isFinished: boolean) => ({
  state: procedure.state,
  reason: procedure.reason,
  by: procedure.by,
  commandId: procedure.commandId,
  error: procedure.error,
  startedAt: procedure.startedAt,
  changedAt: procedure.changedAt,
  keepUntil: procedure.keepUntil,
  finishedAt: isFinished ? procedure.changedAt : null,
})
