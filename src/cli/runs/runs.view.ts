import { plural } from '../../core/kit/index.ts'
import { canRetry, hasEnded, type OperatorRun, type OperatorRunDetail, type RunDetail, type RunSummary } from '../../core/runs/index.ts'
import { fieldColumns } from '../boards/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'

const tint = { running: 'cyan', waiting: 'yellow', completed: 'green', failed: 'red' } as const satisfies Record<
  OperatorRun['status'],
  keyof Paint
>

const placesOf = ({ activeElementIds, failure }: OperatorRun): string =>
  activeElementIds.length > 0 ? activeElementIds.join(', ') : (failure?.elementId ?? '')

const columns = ({ now }: Style): Column<OperatorRun>[] => [
  { title: 'ID', value: ({ id }) => id, priority: 1 },
  { title: 'BOARD', value: ({ boardName }) => boardName, priority: 1, minWidth: 10 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => tint[status] },
  { title: 'ELEMENT', value: placesOf, priority: 1, minWidth: 8 },
  { title: 'STARTED', value: ({ startedAt }) => ago(startedAt, now), priority: 2 },
  { title: 'DUE', value: ({ slaDeadline }) => slaDeadline && ago(slaDeadline, now), priority: 3 },
  { title: 'REASON', value: ({ failure }) => failure?.message, priority: 2, minWidth: 12 },
]

export const runList = (
  { runs, nextCursor }: Readonly<{ runs: readonly OperatorRun[]; nextCursor: string | null }>,
  style: Style,
): string =>
  sections(runs.length === 0 ? 'No runs.' : table(style, columns(style), runs), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

type Undelivered = OperatorRunDetail['undelivered'][number]

const undeliveredColumns = ({ now }: Style): Column<Undelivered>[] => [
  { title: 'NOT DELIVERED', value: ({ type }) => type, priority: 1 },
  { title: 'ELEMENT', value: ({ elementId }) => elementId, priority: 1 },
  { title: 'AT', value: ({ at }) => ago(at, now), priority: 1 },
]

type Shown = Omit<OperatorRun, 'spaceName'> & Readonly<{ undelivered?: readonly Undelivered[] }>

export function runView(run: Shown, style: Style, { tenant }: Readonly<{ tenant: string }>): string {
  const { paint, now } = style
  const { id, boardId, boardName, boardVersion, status, trigger, failure, seq, startedAt, completedAt, slaDeadline, undelivered = [] } = run
  return sections(
    `${paint.bold(clean(boardName))} ${paint[tint[status]](status)}`,
    fields(style, [
      ['id', id],
      ['board', `${boardId} version ${boardVersion}`],
      ['trigger', trigger],
      ['waits at', run.activeElementIds.map(clean).join(', ')],
      ['seq', seq],
      ['reason', failure && `${failure.code}: ${clean(failure.message)}`],
      ['started', stamp(startedAt, now)],
      ['due', stamp(slaDeadline, now)],
      ['ended', stamp(completedAt, now)],
    ]),
    undelivered.length === 0 ? '' : table(style, undeliveredColumns(style), undelivered),
    failure === null || hasEnded(run) ? '' : nextStep(failure, { id, tenant: clean(tenant) }),
  )
}

function nextStep(failure: NonNullable<OperatorRun['failure']>, { id, tenant }: Readonly<{ id: string; tenant: string }>): string {
  return canRetry(failure)
    ? `fix: tenantry runs retry ${id} --tenant ${tenant}`
    : 'A retry fails again. Once a corrected version of the board is published: ' +
        `tenantry runs retry ${id} --tenant ${tenant} --board-version <version>. ` +
        `Or: tenantry runs cancel ${id} --tenant ${tenant}, then start a new run`
}

type Started = RunSummary & Readonly<{ warnings?: readonly Readonly<{ message: string }>[] }>

export type Approval = Readonly<{ isRepeated: boolean; missing: number }>

/** A run that a user started, with the command that shows what it waits for. */
export const startedView = (run: Started, style: Style): string =>
  sections(ownRunView(run, style), run.status === 'waiting' ? `To see what it waits for: tenantry runs open ${run.id}` : '')

/** A run that a user advanced; an approval that leaves it waiting says whether it counted. */
export const advancedView = ({ approval, ...run }: RunSummary & Readonly<{ approval?: Approval }>, style: Style): string =>
  sections(ownRunView(run, style), approval && approvalText(approval))

const approvalText = ({ isRepeated, missing }: Approval): string =>
  `${isRepeated ? 'You have approved already' : 'Your approval counts'}; ${missing} more ${missing === 1 ? 'is' : 'are'} needed.`

/** A run that a user started or advanced. */
function ownRunView(run: Started, style: Style): string {
  const { id, boardName, status, activeElementIds, seq, failure, completedAt, slaDeadline, warnings = [] } = run
  const { paint, now } = style
  return sections(
    `${paint.bold(clean(boardName))} ${paint[tint[status]](status)}`,
    fields(style, [
      ['id', id],
      ['waits at', activeElementIds.map(clean).join(', ')],
      ['seq', seq],
      ['reason', failure && `${failure.code}: ${clean(failure.message)}`],
      ['due', stamp(slaDeadline, now)],
      ['ended', stamp(completedAt, now)],
    ]),
    warnings.map(({ message }) => paint.yellow(clean(message))).join('\n'),
  )
}

type Open = RunDetail['open'][number]
/** An element as `runs waiting` lists it. */
export type WaitingElement = Omit<Open, 'skippable' | 'fields'>

const openColumns = ({ now }: Style): Column<Open>[] => [
  { title: 'ELEMENT', value: ({ elementId }) => elementId, priority: 1 },
  { title: 'KIND', value: ({ kind }) => kind, priority: 1 },
  { title: 'LABEL', value: ({ label }) => label, priority: 2, minWidth: 10 },
  { title: 'ROLE', value: ({ assignedRole }) => assignedRole ?? 'starter', priority: 1 },
  { title: 'SKIPPABLE', value: ({ skippable }) => (skippable ? 'yes' : 'no'), priority: 2 },
  { title: 'DUE', value: ({ dueAt }) => dueAt && ago(dueAt, now), priority: 2 },
  { title: 'APPROVALS', value: approvalsOf, priority: 2 },
]

/** `1 of 2` */
export const approvalsOf = ({ approvals, requiredApprovals }: Pick<Open, 'approvals' | 'requiredApprovals'>): string | null =>
  requiredApprovals === null ? null : `${approvals ?? 0} of ${requiredApprovals}`

/** The open elements of a run, with the fields of its forms. */
const openView = (open: readonly Open[], style: Style): string =>
  sections(
    open.length === 0 ? '' : table(style, openColumns(style), open),
    ...open.flatMap(({ elementId, fields: ofForm }) =>
      ofForm.length === 0 ? [] : [`Fields of ${clean(elementId)}:\n${table(style, fieldColumns, ofForm)}`],
    ),
  )

/** A run for a user, with what it waits for. */
export const waitingView = (run: RunDetail, style: Style): string => sections(ownRunView(run, style), openView(run.open, style))

type Entry = Readonly<{ seq: number; at: string; type: string; elementId: string | null; boardVersion: number | null }>

const entryColumns: readonly Column<Entry>[] = [
  { title: 'SEQ', value: ({ seq }) => seq, priority: 1, align: 'right' },
  { title: 'AT (UTC)', value: ({ at }) => at.slice(0, 19).replace('T', ' '), priority: 1 },
  { title: 'INPUT', value: ({ type, boardVersion }) => (boardVersion ? `${type} (version ${boardVersion})` : type), priority: 1 },
  { title: 'ELEMENT', value: ({ elementId }) => elementId, priority: 1 },
]

export const historyView = (
  { entries, nextCursor }: Readonly<{ entries: readonly Entry[]; nextCursor: string | null }>,
  style: Style,
): string =>
  sections(entries.length === 0 ? 'No steps.' : table(style, entryColumns, entries), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

type Content = Omit<OperatorRun, 'spaceName'> &
  Readonly<{
    startedBy: string | null
    users: Readonly<Record<string, string>>
    context: Readonly<Record<string, unknown>>
    open: readonly Open[]
    steps: readonly (Entry & Readonly<{ by: string | null; values: Readonly<Record<string, unknown>> | null }>)[]
    moreSteps: boolean
    reports: readonly Readonly<{ title: string; markdown: string }>[]
    messages: readonly Readonly<{ elementId: string; status: string }>[]
  }>

const userOf = ({ users }: Pick<Content, 'users'>, id: string | null): string | null => (id === null ? null : (users[id] ?? id))

const stepColumns = (run: Content): readonly Column<Content['steps'][number]>[] => [
  ...entryColumns,
  { title: 'BY', value: ({ by }) => userOf(run, by), priority: 1 },
  { title: 'VALUES', value: ({ values }) => values && JSON.stringify(values), priority: 2, minWidth: 12 },
]

export const contentView = (run: Content, style: Style, input: Readonly<{ tenant: string }>): string =>
  sections(
    runView(run, style, input),
    openView(run.open, style),
    `Variables of the run, started by ${clean(userOf(run, run.startedBy) ?? 'a trigger')}:`,
    fields(
      style,
      Object.entries(run.context).map(([name, value]): [string, string] => [clean(name), clean(String(value))]),
    ),
    table(style, stepColumns(run), run.steps),
    run.moreSteps ? `The first ${run.steps.length} steps are shown.` : '',
    run.messages.map(({ elementId, status }) => `Message of ${clean(elementId)}: ${status}`).join('\n'),
    ...run.reports.map(({ title, markdown }) => `${style.paint.bold(clean(title))}\n${markdown.split('\n').map(clean).join('\n')}`),
  )

type Changed = Readonly<{ changed: readonly string[]; refused: readonly Readonly<{ id: string; message: string }>[]; more: boolean }>

export const changedView =
  (done: string) =>
  ({ changed, refused, more }: Changed, { paint }: Style): string =>
    sections(
      `${plural(changed.length, 'run')} ${done}.`,
      refused.map(({ message }) => paint.red(clean(message))).join('\n'),
      more ? 'More runs match: run the same command again.' : '',
    )
