import { isoNow, sha256Hex } from '../../src/core/kit/index.ts'
import { raiseAlert } from '../../src/daemon/alerts/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { recordSnapshot } from '../../src/daemon/snapshots/snapshots.repo.ts'
import { systemClock } from '../../src/node/index.ts'
import { stuckFence } from '../support/alerts.ts'
import { aManifest, aProbe, aReport } from '../support/boxes.ts'
import { anAutomationKey, anEvent, furnish, furnishStore } from '../support/furnished-tenant.ts'
import { aSubmission } from '../support/marketplace-world.ts'
import { aManifest as aModuleManifest, approve } from '../support/modules-world.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { anAgent, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

type Operator = ReturnType<typeof clientOf>
type AgentClient = Awaited<ReturnType<typeof anAgent>>['agent']

/** One for each way of authentication, the names under which they could be shut out, and what exists for them. */
export async function callers(daemon: RunningDaemon) {
  const admin = await loggedIn(daemon, 'admin')
  const leaving = await loggedIn(daemon, 'viewer')
  const { agent: host, latestAuthorization, hostId } = await anAgent(daemon, admin, 'host-1')
  const user = await aPlatformUser(daemon, { tenant: 'acme', roles: ['tenant-admin', 'store-reviewer'] })
  const { account, sessionId } = await clientOf(daemon.url, admin).admin.whoAmI()
  const { sessions } = await clientOf(daemon.url, user).sessions.listOwnSessions()
  const names = [account.id, String(sessionId), hostId, 'host-1', 'acme', 'anna', ...sessions.map(({ id }) => id)]
  const [automation, tenantId] = [await anAutomationKey(daemon, 'acme'), await tenantIdOf(daemon, 'acme')]
  // With its digest, so that a rollout asks no host for it.
  const digests = { 'registry.example/synapse:v1.163.2': `sha256:${'a'.repeat(64)}` }
  await clientOf(daemon.url, admin).boxes.applyManifest({ body: { manifest: { ...aManifest({ synapse: '1.163.2' }), digests } } })
  // One for all: an address may send five within an hour, and the tool sends its own.
  const { submissionId } = await clientOf(daemon.url).marketplace.submitItem({ body: aSubmission() })
  const seeds = []
  for (let n = 0; n < 6; n++) {
    const event = await anEvent(daemon, { key: automation, tenantId, title: `seed ${n}` })
    const ofTool = Object.fromEntries(Object.entries(event).map(([place, [id = '']]) => [place.replace(/:(\w+)/, '{$1}'), id]))
    seeds.push({
      ...(await seedOfTenant(daemon, user, n)),
      ...(await seedOfOperator(daemon, { admin, host, tenantId, submissionId }, n)),
      ...ofTool,
    })
  }
  const leased = await aLeasedCommand(clientOf(daemon.url, admin), host)
  await host.heartbeat({ body: { holding: [leased] } })
  const ofCommand = { 'POST /api/agent/v1/commands/{id}/secrets': leased }
  return {
    seeds: seeds.map((seed) => ({ ...seed, ...ofCommand })),
    admin,
    leaving,
    agent: latestAuthorization(),
    user,
    automation,
    tenantId,
    names,
  }
}

/** Ids by their place in a path; `GET /path` and such have parameters of the query, or fields of the body. */
type Seed = Readonly<Record<string, string | object>>

/** What a user of the tenant acme can name. */
async function seedOfTenant(daemon: RunningDaemon, user: string, n: number): Promise<Seed> {
  const localpart = `seed-${n}`
  const member = await aPlatformUser(daemon, { tenant: 'acme', localpart })
  const { userId: memberId } = await clientOf(daemon.url, member).profile.showProfile()
  const again = await aPlatformUser(daemon, { tenant: 'acme' })
  const { sessions } = await clientOf(daemon.url, again).sessions.listOwnSessions()
  const keys = await furnish(daemon, { head: user, member, memberId, word: localpart })
  const store = await furnishStore(daemon, { tenantId: await tenantIdOf(daemon, 'acme'), headId: memberId, head: user, word: localpart })
  const [moduleId = ''] = store.keys['modules/:moduleId']
  const named = Object.entries({ ...keys, ...store.keys }).map(([place, [id = '']]) => [place.replace(/:(\w+)/, '{$1}'), id])
  return {
    ...Object.fromEntries(named),
    'members/{userId}': memberId,
    'contacts/{userId}': memberId,
    'users/{userId}': memberId,
    'versions/{version}': '1',
    'modules/{id}': moduleId,
    'health/{moduleId}': moduleId,
    'developers/{id}': store.developerId,
    'POST /api/platform/v1/cascade-boards/{id}/runs': { spaceId: keys['spaces/:spaceId'][0], variables: {} },
    'POST /api/platform/v1/auto-callback/spaces/{spaceId}/members': { userId: memberId },
    'PATCH /api/platform/v1/spaces/{spaceId}/files/{fileId}': { name: `${localpart}.txt`, folderId: null },
    'POST /api/platform/v1/runs/{id}/advance': { elementId: 't', action: 'complete' },
    '/api/auth/v1/sessions/{id}': sessions.find(({ current }) => current)?.id ?? '',
  }
}

async function tenantIdOf({ config }: RunningDaemon, slug: string): Promise<string> {
  const { db, close } = openDatabase(config.databaseUrl)
  const { id } = await db.selectFrom('tenants').select('id').where('slug', '=', slug).executeTakeFirstOrThrow()
  await close()
  return id
}

type Operated = Readonly<{ admin: string; host: AgentClient; tenantId: string; submissionId: string }>

/**
 * What an operator and an agent can name. A tenant with a user, a board and a ready box with a snapshot, a second host, a rollout, an alert, and so
 * on: each once.
 */
async function seedOfOperator(daemon: RunningDaemon, { admin, host, tenantId, submissionId }: Operated, n: number): Promise<Seed> {
  const operator = clientOf(daemon.url, admin)
  const slug = `seed-${n}`
  await anAgent(daemon, admin, slug)
  const commandId = await aReadyBox(operator, host, slug)
  const session = await aPlatformUser(daemon, { tenant: slug, localpart: 'mia', roles: ['tenant-admin'] })
  const tenant = clientOf(daemon.url, session)
  // Of a user that no call disables or erases.
  const other = await aPlatformUser(daemon, { tenant: slug, localpart: 'ida' })
  const { sessions } = await clientOf(daemon.url, other).sessions.listOwnSessions()
  const board = await tenant.boards.createBoard({
    body: {
      name: slug,
      definition: {
        elements: [
          { id: 's', kind: 'start', label: 'Start', config: {} },
          { id: 't', kind: 'task', label: 'Step', config: { assignedRole: 'tenant-admin' } },
          { id: 'e', kind: 'end', label: 'End', config: {} },
        ],
        edges: [
          { id: 'st', source: 's', target: 't' },
          { id: 'te', source: 't', target: 'e' },
        ],
      },
    },
  })
  await tenant.boards.publishBoard({ params: { id: board.id } })
  const run = await tenant.runs.startRun({ params: { id: board.id }, body: {} })
  await tenant.support.grantSupportAccess()
  const key = await operator.automation.createAutomationKey({ body: { name: slug, tenants: [slug] } })
  const { account } = await operator.admin.createAccount({ body: { name: slug, role: 'viewer' } })
  const token = await operator.admin.createToken({ body: { name: slug, role: 'viewer' } })
  const person = clientOf(daemon.url, await loggedIn(daemon, 'viewer', { name: `person-${n}` }))
  const rollout = await operator.rollouts.createRollout({ body: { targetSlugs: [slug], skipRefused: true } })
  const registry = `${slug}.example`
  await operator.hosts.setRegistry({ body: { registry, host: null, mirror: 'mirror.example' } })
  const rows = await operatorRows(daemon, { slug, tenantId })
  await operator['module-services'].setModuleUpstream({ params: { id: rows.serviceId }, body: { url: 'https://service.example/' } })
  const ofTenant = '/api/admin/v1/tenants/{slug}'
  return {
    'tenants/{slug}': slug,
    'boxes/{slug}': slug,
    'actions/{slug}': slug,
    'users/{localpart}': 'mia',
    'hosts/{name}': slug,
    'accounts/{id}': account.id,
    'tokens/{id}': token.id,
    'alerts/{id}': rows.alertId,
    'rollouts/{id}': rollout.id,
    'commands/{id}': commandId,
    'webhooks/{id}': rows.eventId,
    'crons/{jobKey}': 'housekeeping',
    'automation-keys/{id}': key.id,
    '/api/admin/v1/sessions/{id}': String((await person.admin.whoAmI()).sessionId),
    '/api/admin/marketplace/submissions/{id}': submissionId,
    '/api/platform/v1/marketplace/items/{id}': rows.itemId,
    [`${ofTenant}/sessions/{id}`]: sessions[0]?.id ?? '',
    [`${ofTenant}/boards/{id}`]: board.id,
    [`${ofTenant}/runs/{id}`]: run.id,
    [`GET ${ofTenant}/sessions`]: { user: 'mia' },
    'GET /api/admin/v1/modules/{id}/upstream': { id: rows.serviceId },
    'PUT /api/admin/v1/modules/{id}/upstream': { id: rows.serviceId, url: 'https://service.example/' },
    [`POST ${ofTenant}/user-imports`]: { csv: 'username\nimported\n', dryRun: true, fromLine: 1 },
    'GET /api/admin/v1/audit/verify': { chain: 'admin' },
    'POST /api/admin/v1/automation-keys': { tenants: [slug] },
    'POST /api/admin/v1/boxes': { host: 'host-1' },
    'POST /api/admin/v1/boxes/adopt': { host: 'host-1' },
    'POST /api/admin/v1/boxes/{slug}/drill': { snapshotId: rows.snapshotId },
    'POST /api/admin/v1/boxes/{slug}/restore': { snapshotId: rows.snapshotId },
    'POST /api/admin/v1/boxes/{slug}/move': { to: slug, oldHostIsDead: 'host-1' },
    'POST /api/admin/v1/boxes/{slug}/move/plan': { to: slug, oldHostIsDead: 'host-1' },
    'POST /api/admin/v1/registries/remove': { registry, host: null },
    'POST /api/platform/v1/auto-callback/matrix/send': { roomId: rows.roomId },
  }
}

/** Returns the command that provisioned it. */
async function aReadyBox(operator: Operator, host: AgentClient, slug: string): Promise<string> {
  const command = await aProvisioning(operator, host, slug)
  const result = { report: aReport(slug, { at: new Date().toISOString() }), probe: aProbe() }
  await host.postResult({ params: { id: command.id }, body: { leaseToken: command.leaseToken, outcome: { ok: true, result } } })
  return command.id
}

/** A command that no agent ends: only those of a lease have secrets. */
async function aLeasedCommand(operator: Operator, host: AgentClient) {
  const { id, leaseToken } = await aProvisioning(operator, host, 'leased')
  return { id, leaseToken }
}

async function aProvisioning(operator: Operator, host: AgentClient, slug: string) {
  const body = { slug, name: slug, plan: 'light' as const, chatDomain: `chat.${slug}.example`, host: 'host-1' }
  await operator.boxes.provisionBox({ body })
  const { command } = await host.nextCommand({ body: { holding: [] } })
  if (command?.kind !== 'tenant-box.provision') throw new Error(`the next command is ${command?.kind}`)
  return command
}

const dataProcessing = { operator: 'Service GmbH', country: 'DE', privacyUrl: 'https://service.example/privacy' }

type Rows = Readonly<{ slug: string; tenantId: string }>

/** What no operation makes here: it comes from agents, the payment provider, jobs or the chat server. */
async function operatorRows({ config }: RunningDaemon, { slug, tenantId: acmeId }: Rows) {
  const { db, close } = openDatabase(config.databaseUrl)
  const [at, snapshotId, serviceId, eventId] = [isoNow(systemClock), sha256Hex(slug), `service-${slug}`, `evt_${slug}`]
  const box = await db.selectFrom('boxes').select(['id', 'tenant_id']).where('slug', '=', slug).executeTakeFirstOrThrow()
  const owner = { id: box.id, slug, tenantId: box.tenant_id }
  await db.transaction().execute(async (tx) => {
    await recordSnapshot({ tx, clock: systemClock }, owner, { snapshotId, tier: 'daily', takenAt: at })
    await raiseAlert(tx, systemClock, stuckFence(slug))
  })
  const alert = await db.selectFrom('alerts').select('id').where('subject', '=', slug).executeTakeFirstOrThrow()
  const item = await db.selectFrom('marketplace_items').select('id').where('seed_key', '=', 'visitor').executeTakeFirstOrThrow()
  await db
    .insertInto('payment_events')
    .values({
      ...{ id: eventId, type: 'invoice.paid', endpoint: 'platform', object_kind: 'invoice', object_id: 'in_1', livemode: 0 },
      ...{ event_at: at, created_at: at, outcome: 'ignored', applied_at: at },
    })
    .execute()
  await approve(db, aModuleManifest({ id: serviceId, type: 'B', featureFlag: serviceId, dataProcessing }), acmeId)
  const roomId = `!${slug}:chat.acme.example`
  await db
    .insertInto('automation_rooms')
    .values({ tenant_id: acmeId, event_id: `room-${slug}`, room_id: roomId, name: slug, topic: null, members: '[]', created_at: at })
    .execute()
  await db
    .updateTable('module_installations')
    .set({ former: formerVersion(at), former_until: '2100-01-01T00:00:00.000Z' })
    .where('former', 'is', null)
    .execute()
  await close()
  return { snapshotId, serviceId, eventId, roomId, itemId: item.id, alertId: String(alert.id) }
}

/** As if each module had been updated. */
const formerVersion = (updatedAt: string): string =>
  JSON.stringify({ version: '1.0.0', permissions: [], featureFlag: 'former', dataGeneration: 0, dataVersion: 0, dataBytes: 0, updatedAt })
