import { isoNow } from '../../src/core/kit/index.ts'
import { authenticateAutomation, automationFeature } from '../../src/daemon/automation/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { runTasks } from '../../src/daemon/flows/index.ts'
import { spaceSyncJobs } from '../../src/daemon/spaces/index.ts'
import { loadRoleBook } from '../../src/daemon/users/index.ts'
import { drainJobs } from '../../src/daemon/work/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { aFilesWorld } from './files-world.ts'
import { servedApp } from './served-app.ts'

type Rules = Readonly<{ requireKey?: boolean; networks?: readonly string[] }>

/** The automation API of the tenants `acme`, which has a simulated chat server, and `other`, over an empty database. */
export const anAutomationWorld = async (db: Db, rules: Rules = {}) => automationOver(await aFilesWorld(db), rules)

/** What the API stands on; its chat server may be a real one. */
type Base = Omit<Awaited<ReturnType<typeof aFilesWorld>>, 'chat' | 'folder' | 'objectsAt' | 'kept' | 'send' | 'usage' | 'rows' | 'agree'>

/** The same over any chat server. */
export async function automationOver<Given extends Base>(files: Given, { requireKey = true, networks = [] }: Rules = {}) {
  const { db } = files
  const roles = await loadRoleBook('config/roles.yaml')
  const log = silentLogger()
  const deps = { ...files, roles, log, timeZone: 'UTC', runTasks: runTasks(files) }
  const other = await anotherTenant(db, isoNow(files.clock))
  const authenticate = {
    automation: authenticateAutomation({ ...deps, automation: { requireKey, networks } }),
    admin: async () => ({ kind: 'admin', accountId: 'acc_1', name: 'anna', role: 'admin', sessionId: 'ses_1' }) as const,
  }
  const passed: string[] = []
  const limits = {
    addresses: () => undefined,
    anonymous: (_: unknown, __: unknown, next: () => void) => next(),
    share: (_: unknown, __: unknown, next: () => void) => next(),
    paceRefusal: async () => true,
    show: async () => undefined,
    pass: async (_: unknown, { tenantId }: Readonly<{ tenantId: string }>) => passed.push(tenantId) > 0,
  }
  const { url } = await servedApp(automationFeature.routes?.(deps) ?? [], { authenticate, limits, clock: files.clock })

  /** Calls a path like an automation tool does, with nothing but fetch. */
  async function call(key: string | undefined, line: string, body?: unknown, headers: Record<string, string> = {}) {
    const [method = '', path = ''] = line.split(' ')
    const response = await fetch(`${url}${path.startsWith('/api/') ? '' : '/api/platform/v1/auto-callback'}${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'x-automation-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...{ connection: 'close', ...headers },
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: text === '' ? {} : JSON.parse(text), headers: response.headers }
  }

  async function aKey(tenants: readonly string[] = ['acme'], name = 'n8n', days?: number): Promise<string> {
    const made = await call(undefined, 'POST /api/admin/v1/automation-keys', { name, tenants, ...(days ? { days } : {}) })
    if (made.status !== 201) throw new Error(JSON.stringify(made.json))
    return made.json.key
  }

  /** A user of a tenant with roles, and an account in the chat of `acme`. */
  async function aUserWith(localpart: string, ...held: string[]) {
    const user = await files.aUser(localpart, { capabilities: ['manageSpaces', 'manageUsers'] })
    await db
      .updateTable('users')
      .set({ roles: JSON.stringify(held) })
      .where('id', '=', user.userId)
      .execute()
    return user
  }
  const handlers = { ...spaceSyncJobs(deps), ...automationFeature.jobs?.(deps) }
  const work = () => drainJobs({ db, clock: files.clock, log, handlers })
  return { ...deps, url, other, call, aKey, aUserWith, work, passed }
}

export type AutomationWorld = Awaited<ReturnType<typeof anAutomationWorld>>
/** A tenant with a user, a space and a task, but without a chat server. */
async function anotherTenant(db: Db, at: string) {
  const ids = {
    tenantId: 'ten_other000000000000000',
    userId: 'usr_0ther000000000000000',
    spaceId: 'spc_0ther000000000000000',
    taskId: 'tsk_0ther000000000000000',
    roomId: '!other:other.example',
    eventId: 'event-of-other',
  }
  const { tenantId } = ids
  const times = { created_at: at, updated_at: at }
  await db
    .insertInto('tenants')
    .values({
      ...{ id: tenantId, slug: 'other', name: 'Other', plan: 'light', status: 'active', chat_domain: 'other.example', feature_flags: '{}' },
      ...times,
    })
    .execute()
  await db
    .insertInto('users')
    .values({
      ...{ id: ids.userId, tenant_id: tenantId, localpart: 'olga', display_name: null, locale: null, avatar_url: null },
      ...{ roles: '["teacher"]', status: 'active', password_unknown_since: null, search_name: 'olga', ...times },
    })
    .execute()
  await db
    .insertInto('spaces')
    .values({
      ...{ id: ids.spaceId, tenant_id: tenantId, name: 'Theirs', type: 'STAFF', visibility: 'PRIVATE', revision: 1, chat_revision: 1 },
      ...{ chat_space_id: '!space:other.example', chat_room_id: ids.roomId, created_by: ids.userId, deleted_at: null, ...times },
    })
    .execute()
  await db
    .insertInto('tasks')
    .values({
      ...{ id: ids.taskId, tenant_id: tenantId, external_id: 't1', event_id: ids.eventId, space_id: null, run_id: null, title: 'Theirs' },
      ...{ status: 'open', assigned_role: 'teacher', role_key: 'teacher', assignee_id: null, due_at: null, escalation_level: 0 },
      ...{ escalated_at: null, created_by: null, ...times },
    })
    .execute()
  await db
    .insertInto('automation_rooms')
    .values({
      ...{ tenant_id: tenantId, event_id: ids.eventId, room_id: '!event:other.example', name: 'Theirs', topic: null, members: '[]' },
      created_at: at,
    })
    .execute()
  return ids
}
