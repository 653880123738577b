import { automationContract, automationKeysContract, maxReportTasks, writeReport } from '../../core/automation/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import { type AutomationActor, isoNow } from '../../core/kit/index.ts'
import type { SpaceId } from '../../core/spaces/index.ts'
import { type Handlers, serveContract } from '../http/index.ts'
import { storeReport } from '../reports/index.ts'
import { createToolSpace, listAllSpaces, putToolMember } from '../spaces/index.ts'
import { countTasksOfEvent, tasksOfEvent, taskView } from '../tasks/index.ts'
import { tenantById } from '../tenants/index.ts'
import { usersAfter, userView } from '../users/index.ts'
import { rotateChatCredentials, showChatCredentials } from './credentials.ts'
import type { AutomationDeps } from './deps.ts'
import { createEventRoom } from './event-rooms.ts'
import { assertEvent, assertSpace, createEventTasks, escalateEventTask, listEventTasks } from './event-tasks.ts'
import { createKey, listKeys, revokeKey } from './keys.ts'
import { listTenantRooms, notifyEventRoom, sendTenantMessage } from './messages.ts'
import { type OneCall, oncePerKey } from './once.ts'

type Posted = Readonly<{ actor: AutomationActor; params?: unknown; body?: unknown; header(name: string): string | undefined }>

export const automationRoutes = (deps: AutomationDeps) => {
  const once = <Answer>(operation: string, { actor, params, body, header }: Posted, work: (one: OneCall<Answer>) => Promise<Answer>) =>
    oncePerKey(deps, { actor, operation, key: header('idempotency-key'), params: params ?? null, body }, work)
  const handlers: Handlers<typeof automationContract> = {
    createEventTasks: (call) =>
      once('create-tasks', call, () => createEventTasks(deps, call.actor, { ...call.params, tasks: call.body.tasks })),
    createEventRoom: (call) => once('create-room', call, () => createEventRoom(deps, call.actor, { ...call.params, ...call.body })),
    notifyEventRoom: (call) =>
      once('notify', call, ({ stableId }) =>
        notifyEventRoom(deps, call.actor, { ...call.params, ...textOf(call.body), transactionId: stableId }),
      ),
    listEventTasks: ({ actor, params, query }) => listEventTasks(deps, actor, { ...params, ...query }),
    escalateEventTask: (call) =>
      once('escalate', call, ({ store }) => escalateEventTask(deps, call.actor, { ...call.params, ...call.body, store })),
    generateEventReport: (call) =>
      once('report', call, ({ stableId }) => generateEventReport(deps, call.actor, { ...call.params, ...call.body, key: stableId })),
    findTenant: ({ actor }) => showTenant(deps, actor),
    listTenantSpaces: ({ actor, query }) => listAllSpaces(deps, { ...query, tenantId: actor.tenantId }),
    createTenantSpace: (call) =>
      once('create-space', call, ({ stableId }) =>
        createToolSpace(deps, call.actor, { ...call.body, id: `spc_${stableId.slice(0, 20)}` as SpaceId }),
      ),
    addTenantSpaceMember: (call) => once('add-member', call, () => putToolMember(deps, call.actor, { ...call.params, ...call.body })),
    listTenantUsers: ({ actor, query }) => listTenantUsers(deps, actor, query),
    sendTenantMessage: (call) =>
      once('send', call, ({ stableId }) =>
        sendTenantMessage(deps, call.actor, { roomId: call.body.roomId, ...textOf(call.body), transactionId: stableId }),
      ),
    listTenantRooms: ({ actor, query }) => listTenantRooms(deps, actor, query),
    showChatCredentials: ({ actor }) => showChatCredentials(deps, actor),
  }
  return [
    ...serveContract(automationContract, handlers),
    ...serveContract(automationKeysContract, {
      listAutomationKeys: async () => ({ keys: await listKeys(deps) }),
      createAutomationKey: ({ actor, body }) => createKey(deps, actor, body),
      revokeAutomationKey: async ({ actor, params }) => {
        await revokeKey(deps, actor, params)
        return undefined
      },
      rotateChatCredentials: ({ actor, params }) => rotateChatCredentials(deps, actor, params),
    }),
  ]
}

const textOf = ({ body, html }: Readonly<{ body: string; html?: string | undefined }>) => ({ body, html })

async function showTenant({ db }: Pick<AutomationDeps, 'db'>, { tenantId }: AutomationActor) {
  const tenant = await tenantById(db, tenantId)
  if (!tenant) throw new Error(`tenant ${tenantId} was deleted meanwhile`)
  const { id, slug, name, chatDomain, plan, status, schoolId, orgId } = tenant
  return { tenantId: id, slug, name, chatDomain, plan, status, schoolId, orgId }
}

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

async function listTenantUsers({ db }: Pick<AutomationDeps, 'db'>, actor: AutomationActor, { cursor, limit }: Page) {
  const { tenantId, tenantSlug: slug, chatDomain } = actor
  const found = await usersAfter(db, { tenantId, withoutErased: true, after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, (last) => last.localpart)
  const users = page.map((user) => {
    const { id, localpart, matrixUserId, displayName, roles, status } = userView({ slug, chatDomain }, user)
    return { id, localpart, matrixUserId, displayName, roles, status }
  })
  return { users, nextCursor }
}

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
async function generateEventReport(deps: Deps, actor: AutomationActor, input: ReportInput) {
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
