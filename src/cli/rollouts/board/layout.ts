import { fold } from '../../../core/kit/index.ts'
import { shorten } from '../../kit/index.ts'
import type { NextStep } from '../words.ts'
import type { BoardModel, Failure, InFlight } from './model.ts'

export type Size = Readonly<{ columns: number; rows: number }>

/** What of the lists fits; the rest is counted. */
export type Layout = Readonly<{
  inFlight: readonly InFlight[]
  moreInFlight: number
  failures: readonly Failure[]
  moreFailures: number
}>

/** Title, phases and bar, with an empty line between each; the row that the cursor rests on. */
const frameRows = 6
/** An empty line, the heading of a list, and the row that counts what did not fit. */
const listRows = 3
const footRows = 2

/**
 * Shares the rows of a terminal: what to type next always stands, then a few failures, then boxes under way, then more failures.
 * Where there is room for one list only, it is the one that somebody must act on.
 */
export function layout(model: BoardModel, { columns, rows }: Size): Layout {
  const { inFlight, failures } = model
  const spare = rows - frameRows - footRows - (model.waiting ? 1 : 0) - outcomeRows(model, columns)
  if (inFlight.length === 0 || failures.length === 0) return cut(model, spare - listRows, spare - listRows)
  const both = spare - 2 * listRows
  if (both < 2) return model.next.length > 0 ? cut(model, 0, spare - listRows) : cut(model, spare - listRows, 0)
  const firstFailures = Math.min(failures.length, Math.max(1, Math.floor(both / 3)))
  const shownInFlight = Math.min(inFlight.length, both - firstFailures)
  return cut(model, shownInFlight, both - shownInFlight)
}

function cut({ inFlight, failures }: BoardModel, mostInFlight: number, mostFailures: number): Layout {
  const shown = { inFlight: inFlight.slice(0, Math.max(0, mostInFlight)), failures: failures.slice(0, Math.max(0, mostFailures)) }
  return { ...shown, moreInFlight: inFlight.length - shown.inFlight.length, moreFailures: failures.length - shown.failures.length }
}

/** What the steps are indented by: their first column. */
export const stepIndent = ({ next }: BoardModel): number => Math.max(0, ...next.map(({ does }) => does.length)) + 4

/** A step as it stands: its command beside what it does or, where that has no room, in rows of its own below. */
type StepRows = Readonly<{ beside: boolean; rows: readonly string[] }>

const belowIndent = 2

export function stepRows({ type }: NextStep, indent: number, columns: number): StepRows {
  if (indent + type.length <= columns) return { beside: true, rows: [type] }
  const room = columns - belowIndent
  return { beside: false, rows: (type.length <= room ? [type] : broken(type, room)).map((row) => ' '.repeat(belowIndent) + row) }
}

/** What is wider than the terminal goes on below as shells read it, so that it can be copied whole. */
function broken(command: string, room: number): string[] {
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

/** Why it rests or ended, in two rows at most. */
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
