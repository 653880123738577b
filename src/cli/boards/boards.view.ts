import type { BoardFinding, BoardStructure, BoardSummary, Simulation } from '../../core/boards/index.ts'
import { plural } from '../../core/kit/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table, tableWithText } from '../kit/index.ts'

const tint = { draft: 'yellow', active: 'green', archived: 'dim' } as const satisfies Record<BoardSummary['status'], keyof Paint>

const columns = ({ now }: Style): Column<BoardSummary>[] => [
  { title: 'ID', value: ({ id }) => id, priority: 1 },
  { title: 'NAME', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => tint[status] },
  { title: 'VERSION', value: ({ version }) => version, priority: 2, align: 'right' },
  { title: 'PUBLISHED', value: ({ publishedVersion }) => publishedVersion, priority: 2, align: 'right' },
  { title: 'SAVED', value: ({ updatedAt }) => ago(updatedAt, now), priority: 3 },
]

export const boardList = (
  { boards, nextCursor }: Readonly<{ boards: readonly BoardSummary[]; nextCursor: string | null }>,
  style: Style,
): string =>
  sections(boards.length === 0 ? 'No boards.' : table(style, columns(style), boards), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

const summaryFields = (board: BoardSummary, style: Style): string =>
  fields(style, [
    ['id', board.id],
    ['version', board.version],
    ['published', board.publishedVersion],
    ['created', stamp(board.createdAt, style.now)],
    ['saved', stamp(board.updatedAt, style.now)],
  ])

const titleOf = ({ name, status }: BoardSummary, { paint }: Style): string => `${paint.bold(clean(name))} ${paint[tint[status]](status)}`

type Placed = BoardStructure['elements'][number] & Readonly<{ column: string | undefined; next: string }>

const elementColumns: readonly Column<Placed>[] = [
  { title: 'ELEMENT', value: ({ id }) => id, priority: 1 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 1 },
  { title: 'LABEL', value: ({ label }) => label, priority: 2, minWidth: 10 },
  { title: 'COLUMN', value: ({ column }) => column, priority: 3 },
  { title: 'NEXT', value: ({ next }) => next, priority: 1, minWidth: 10 },
]

export function boardView(board: BoardStructure, style: Style): string {
  const names = new Map(board.columns.map(({ id, name }) => [id, name]))
  const nextOf = (id: string) =>
    board.edges
      .filter(({ source }) => source === id)
      .map(({ target, condition }) => (condition === 'always' ? target : `${target} (${condition})`))
      .join(', ')
  const placed = board.elements.map((one) => ({ ...one, column: names.get(one.columnId ?? ''), next: nextOf(one.id) }))
  return sections(
    titleOf(board, style),
    summaryFields(board, style),
    placed.length > 0 ? table(style, elementColumns, placed) : 'No elements.',
  )
}

export const importedView = (board: BoardSummary, style: Style, { tenant }: Readonly<{ tenant: string }>): string =>
  sections(
    titleOf(board, style),
    summaryFields(board, style),
    `Imported as a draft. To list open parameters: tenantry boards check ${board.id} --tenant ${clean(tenant)}`,
  )

const reason: Column<BoardFinding> = { title: 'REASON', value: ({ message }) => message }

const findingColumns: readonly Column<BoardFinding>[] = [
  { title: 'SEVERITY', value: ({ severity }) => severity, priority: 1, paint: ({ severity }) => (severity === 'error' ? 'red' : 'yellow') },
  { title: 'CODE', value: ({ code }) => code, priority: 1 },
  { title: 'ELEMENT', value: ({ elementId }) => elementId, priority: 1 },
  reason,
]

export type Checked = Readonly<{ name: string; findings: readonly BoardFinding[]; isLocal: boolean }>

export const hasErrors = ({ findings }: Pick<Checked, 'findings'>): boolean => findings.some(({ severity }) => severity === 'error')

export function findingsView({ name, findings, isLocal }: Checked, style: Style): string {
  const paths = findings.flatMap(({ code, elementId, path }) =>
    path && path.length > 0 ? [`Path to ${code} at ${clean(elementId ?? 'the board')}:\n  ${path.map(clean).join(' > ')}`] : [],
  )
  const errors = findings.filter(({ severity }) => severity === 'error').length
  return sections(
    findings.length > 0 ? tableWithText(style, { columns: findingColumns, text: reason }, findings) : '',
    ...paths,
    errors > 0 ? style.paint.red(`${clean(name)}: ${plural(errors, 'error')}. It cannot be published.`) : `${clean(name)}: OK.`,
    isLocal ? 'Roles and rooms were not checked: they depend on the tenant.' : '',
  )
}

type Step = Simulation['steps'][number]

const stepColumns: readonly Column<Step>[] = [
  { title: 'AT (UTC)', value: ({ at }) => at.slice(0, 19).replace('T', ' '), priority: 1 },
  { title: 'INPUT', value: ({ input }) => input, priority: 1 },
  { title: 'ELEMENT', value: ({ elementId }) => elementId, priority: 1 },
  { title: 'BY', value: ({ by }) => by, priority: 3 },
  { title: 'RESULT', value: resultOf, priority: 1, minWidth: 20 },
  { title: 'WAITS AT', value: ({ activeElementIds }) => activeElementIds.join(', '), priority: 2, minWidth: 10 },
]

function resultOf({ refused, effects }: Step): string {
  if (refused) return `refused: ${refused.message}`
  const words = effects.flatMap((effect) => {
    if (effect.type === 'opened' || effect.type === 'ended') return []
    if (effect.type === 'closed') return [`${effect.elementId} ${effect.outcome}`]
    if (effect.type === 'message') return [`message "${effect.body}"`]
    if (effect.type === 'report') return [`report "${effect.title}"`]
    return [effect.type === 'escalated' ? `escalated${effect.role === null ? '' : ` to ${effect.role}`}` : `due ${effect.dueAt}`]
  })
  return words.join('; ')
}

export function simulationView({ outcome, failure, steps, waitsAt, unused, endedAt }: Simulation, style: Style): string {
  const paint = outcome === 'completed' ? style.paint.green : style.paint.yellow
  return sections(
    table(style, stepColumns, steps),
    `${paint(outcome)} at ${endedAt.slice(0, 19).replace('T', ' ')} UTC${failure ? `: ${clean(failure.message)}` : ''}`,
    waitsAt.length > 0 ? `Waits at: ${waitsAt.map(clean).join(', ')}` : '',
    unused.length > 0 ? `Answers not used: ${unused.map(clean).join(', ')}` : '',
  )
}
