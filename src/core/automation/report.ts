import { fillTemplate } from '../boards/index.ts'
import { problem } from '../kit/index.ts'
import { escapeMarkdown } from '../reports/index.ts'
import type { Task } from '../tasks/index.ts'
import { localText } from '../wall-clock/index.ts'

export const maxTemplateLetters = 100_000
/** Letters of a finished report. */
const maxReportLetters = 500_000
/** Tasks that a report lists: the newest. */
export const maxReportTasks = 1000

type Value = string | number | boolean
/** `timeZone`: of the times that the report shows. `tasks`: the newest; `counts`: of all. */
type EventFacts = Readonly<{
  eventId: string
  tenantName: string
  createdAt: string
  timeZone: string
  tasks: readonly Task[]
  counts: Readonly<{ all: number; unfinished: number }>
}>
type ReportInput = Readonly<{ template?: string | undefined; variables: Readonly<Record<string, Value>> }>

const defaultTemplate = `Event: {eventId}

Organisation: {tenantName}

Created: {createdAt}

## Tasks

Tasks: {taskCount}, unfinished: {openTaskCount}.

{tasks}
`

/**
 * The Markdown of an event's report, and the placeholders without a value. Names of the event (`eventId`, `tenantName`, `createdAt`, `tasks`,
 * `taskCount`, `openTaskCount`) may be replaced by variables of the caller. Throws VALIDATION for a report that would be too long.
 */
export function writeReport(
  facts: EventFacts,
  { template = defaultTemplate, variables }: ReportInput,
): { text: string; missing: string[] } {
  const values = { ...valuesOf(facts), ...escaped(variables) }
  assertShort(template, values)
  return fillTemplate(template, values)
}

/** People write values: none may add a heading or a link to the report. */
const escaped = (values: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? escapeMarkdown(value) : value]))

const valuesOf = ({ eventId, tenantName, createdAt, timeZone, tasks, counts }: EventFacts): Record<string, Value> => ({
  ...escaped({ eventId, tenantName, createdAt: localText(createdAt, timeZone) }),
  taskCount: counts.all,
  openTaskCount: counts.unfinished,
  tasks: tasks.length === 0 ? '(none)' : tasks.map((task) => taskLine(task, timeZone)).join('\n') + leftOut(tasks.length, counts.all),
})

/** Tasks that are created between the count and the list are no fault. */
const leftOut = (listed: number, all: number): string => (listed < all ? `\n\nThe newest ${listed} of ${all} tasks are listed.` : '')

function taskLine({ title, status, assignedRole, dueAt, escalationLevel, updatedAt }: Task, timeZone: string): string {
  const facts = [
    status === 'in_progress' ? 'in progress' : status,
    ...(assignedRole === null ? [] : [`role ${assignedRole}`]),
    ...(dueAt === null ? [] : [`due ${localText(dueAt, timeZone)}`]),
    ...(escalationLevel === 0 ? [] : [`escalated to level ${escalationLevel}`]),
    ...(status === 'done' ? [`at ${localText(updatedAt, timeZone)}`] : []),
  ]
  return `- **${escapeMarkdown(title)}**: ${escapeMarkdown(facts.join(', '))}`
}

/** Counted before it is filled in: a short template can repeat a long value many thousand times. */
function assertShort(template: string, values: Readonly<Record<string, Value>>): void {
  let letters = template.length
  for (const [, name = ''] of template.matchAll(/\{([A-Za-z][A-Za-z0-9_]{0,39})\}/g))
    letters += Object.hasOwn(values, name) ? String(values[name]).length : 0
  if (letters <= maxReportLetters) return
  const reason = `makes a report of ${letters} characters; at most ${maxReportLetters} are possible`
  throw problem('VALIDATION', `template: ${reason}`, { details: [{ path: 'body.template', reason }] })
}
