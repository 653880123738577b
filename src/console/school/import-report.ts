import type { ImportLine, ImportOutcome, ImportReport } from '../../core/users/index.ts'
import { csvLines } from '../../core/users/index.ts'

/** Two parts of one import as one report. */
export const joined = (first: ImportReport, second: ImportReport): ImportReport => ({
  ...second,
  lines: [...first.lines, ...second.lines],
  counts: Object.fromEntries(
    (Object.keys(second.counts) as ImportOutcome[]).map((outcome) => [outcome, (first.counts[outcome] ?? 0) + second.counts[outcome]]),
  ) as ImportReport['counts'],
  notes: [...new Set([...first.notes, ...second.notes])],
  passwords: { ...first.passwords, ...second.passwords },
})

/** Lines that need a person come first. */
const order: readonly ImportOutcome[] = ['refused', 'disabled', 'erased', 'adopted']
const rank = ({ outcome }: ImportLine): number => (order.includes(outcome) ? order.indexOf(outcome) : order.length)

/** The first `max` lines of a report to show; within a rank in the order of the file. */
export const shownLines = (lines: readonly ImportLine[], max: number): readonly ImportLine[] =>
  [...lines].sort((one, other) => rank(one) - rank(other) || one.line - other.line).slice(0, max)

/** The whole report as a file for a spreadsheet. */
export const reportFile = ({ lines }: Pick<ImportReport, 'lines'>): string =>
  csvLines([
    ['line', 'username', 'displayName', 'outcome', 'reason'],
    ...lines.map(({ line, localpart, displayName, outcome, reason }) => [line, localpart, displayName, outcome, reason]),
  ])

/** The initial passwords as a file for a spreadsheet. */
export function passwordsFile({ lines, passwords }: Pick<ImportReport, 'lines' | 'passwords'>): string {
  const names = new Map(lines.map(({ localpart, displayName }) => [localpart, displayName]))
  return csvLines([
    ['username', 'displayName', 'password'],
    ...Object.entries(passwords).map(([username, password]) => [username, names.get(username) ?? null, password]),
  ])
}
