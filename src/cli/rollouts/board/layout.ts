import { fold } from '../../../core/kit/index.ts'
import type { BoardModel, Failure, NextStep, RunningBox } from '../../../core/rollouts/index.ts'
import { shorten } from '../../kit/index.ts'

export type Size = Readonly<{ columns: number; rows: number }>

/** The part of the lists that fits; the rest is counted. */
export type Layout = Readonly<{
  running: readonly RunningBox[]
  moreRunning: number
  failures: readonly Failure[]
  moreFailures: number
}>

/** Title, phases and bar with empty lines between, and the row of the cursor. */
const frameRows = 6
/** An empty line, the heading of a list, and the row that counts the rest. */
const listRows = 3
const footRows = 2

/**
 * Divides the rows of a terminal: next commands always, then some failures, then running boxes, then more failures. With rows for one list
 * only, failures win if an action is due.
 */
export function layout(model: BoardModel, { columns, rows }: Size): Layout {
  const { running, failures } = model
  const spare = rows - frameRows - footRows - (model.waiting ? 1 : 0) - (model.queued ? 1 : 0) - outcomeRows(model, columns)
  if (running.length === 0 || failures.length === 0) return cut(model, spare - listRows, spare - listRows)
  const both = spare - 2 * listRows
  if (both < 2) return model.next.length > 0 ? cut(model, 0, spare - listRows) : cut(model, spare - listRows, 0)
  const firstFailures = Math.min(failures.length, Math.max(1, Math.floor(both / 3)))
  const shownRunning = Math.min(running.length, both - firstFailures)
  return cut(model, shownRunning, both - shownRunning)
}

function cut({ running, failures }: BoardModel, maxRunning: number, maxFailures: number): Layout {
  const shown = { running: running.slice(0, Math.max(0, maxRunning)), failures: failures.slice(0, Math.max(0, maxFailures)) }
  return { ...shown, moreRunning: running.length - shown.running.length, moreFailures: failures.length - shown.failures.length }
}

/** The indent of the commands. */
export const stepIndent = ({ next }: BoardModel): number => Math.max(0, ...next.map(({ label }) => label.length)) + 4

/** A next command: beside its label, or in rows below it on a narrow terminal. */
type StepRows = Readonly<{ beside: boolean; rows: readonly string[] }>

const belowIndent = 2

export function stepRows({ command }: NextStep, indent: number, columns: number): StepRows {
  if (indent + command.length <= columns) return { beside: true, rows: [command] }
  const room = columns - belowIndent
  return {
    beside: false,
    rows: (command.length <= room ? [command] : continued(command, room)).map((row) => ' '.repeat(belowIndent) + row),
  }
}

/** Breaks a long command with shell line continuations, so that it can be copied. */
function continued(command: string, room: number): string[] {
  const rows: string[] = []
  let row = ''
  for (const word of command.split(' ')) {
    if (row !== '' && `${row} ${word} \\`.length > room) {
      rows.push(`${row} \\`)
      row = word
    } else row = row === '' ? word : `${row} ${word}`
  }
  return [...rows, row]
}

/** The reason of a pause or failure, in at most two rows. */
export function reasonRows(reason: string, columns: number): string[] {
  const [first = '', ...rest] = fold(reason, columns).split('\n')
  return [first, rest.join(' ')].filter(Boolean).map((row) => shorten(row, columns))
}

function outcomeRows(model: BoardModel, columns: number): number {
  const reason = model.reason ? 3 : 0
  const steps = model.next.map((step) => stepRows(step, stepIndent(model), columns))
  const rows = steps.reduce((sum, { beside, rows }) => sum + rows.length + (beside ? 0 : 1), 0)
  return reason + (steps.length > 0 ? 1 + rows : 0)
}
