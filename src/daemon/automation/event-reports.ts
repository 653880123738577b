import { maxReportTasks, writeReport } from '../../core/automation/index.ts'
import { type AutomationActor, isoNow } from '../../core/kit/index.ts'
import { storeReport } from '../reports/index.ts'
import { countTasksOfEvent, tasksOfEvent, taskView } from '../tasks/index.ts'
import { tenantById } from '../tenants/index.ts'
import type { AutomationDeps } from './deps.ts'
import { assertEvent, assertSpace } from './event-tasks.ts'

type Deps = Pick<AutomationDeps, 'db' | 'clock' | 'random' | 'objects' | 'quotas' | 'timeZone'>
type ReportInput = Readonly<{
  eventId: string
  title?: string | undefined
  template?: string | undefined
  variables: Readonly<Record<string, string | number | boolean>>
  spaceId?: string | undefined
  /** The same for a repeated call: the report is stored once. */
  key: string
}>

/** Writes the report of an event, and stores it in a space if one is named. Throws NOT_FOUND (event, space), VALIDATION, QUOTA_EXCEEDED. */
export async function generateEventReport(deps: Deps, actor: AutomationActor, input: ReportInput) {
  const { db, clock, timeZone } = deps
  const { tenantId } = actor
  const { eventId, spaceId, title = `Report ${eventId}`, key } = input
  await assertEvent(db, { tenantId, eventId })
  if (spaceId !== undefined) await assertSpace(db, tenantId, spaceId)
  const createdAt = isoNow(clock)
  const tasks = (await tasksOfEvent(db, { tenantId, eventId, unfinishedOnly: false, limit: maxReportTasks })).reverse().map(taskView)
  const counts = await countTasksOfEvent(db, { tenantId, eventId })
  const tenant = await tenantById(db, tenantId)
  const shown = { tenantName: tenant?.name ?? actor.tenantSlug, timeZone: tenant?.timeZone ?? timeZone }
  const facts = { eventId, createdAt, tasks, counts, ...shown }
  const { text: markdown, missing } = writeReport(facts, input)
  if (spaceId === undefined) return { title, markdown, missing, files: null }
  const stored = await storeReport(deps, { tenantId, spaceId, title, markdown, createdAt, key, createdBy: 'automation' })
  return { title, markdown, missing, files: { spaceId, ...stored } }
}
