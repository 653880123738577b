import { sql } from 'kysely'
import { isoNow, newId } from '../../src/core/kit/index.ts'
import { createKey } from '../../src/daemon/automation/keys.ts'
import { type Db, dialectOf, openDatabase } from '../../src/daemon/db/index.ts'
import { insertRefreshToken, newRefreshToken, refreshHash } from '../../src/daemon/sessions/sessions.repo.ts'
import { systemClock, systemRandom } from '../../src/node/index.ts'
import { aPng } from './images.ts'
import { aPlatformUser } from './platform-user.ts'
import { clientOf, type RunningDaemon } from './running-daemon.ts'

/** A tenant with one of everything that its users can create, and markers that must not reach other tenants. */
export type FurnishedTenant = Readonly<{
  slug: string
  tenantId: string
  /** Authorization headers of a user with all capabilities and of a plain one. */
  head: string
  member: string
  refreshToken: string
  /** The key of an automation tool that may act for this tenant alone. */
  automationKey: string
  /** The developer account of the first user. */
  developerId: string
  /** Ids by path part and parameter name (`spaces/:spaceId`): first a restricted resource, then a visible one. */
  keys: Readonly<Record<string, readonly string[]>>
  /** All ids of the tenant. */
  ids: readonly string[]
  /** Markers in names, secrets and an id that no test sends: wherever one appears, it was read from the database. */
  marks: readonly string[]
}>

/** `word` is part of every name its users choose. */
export async function aFurnishedTenant(daemon: RunningDaemon, slug: string, word: string): Promise<FurnishedTenant> {
  const head = await aPlatformUser(daemon, { tenant: slug, localpart: `${word}-head`, roles: ['tenant-admin', 'store-reviewer'] })
  const member = await aPlatformUser(daemon, { tenant: slug, localpart: `${word}-member` })
  const rows = await rowsOf(daemon, slug)
  const keys = await furnish(daemon, { head, member, memberId: rows.memberId, word })
  const automationKey = await anAutomationKey(daemon, slug)
  const event = await anEvent(daemon, { key: automationKey, tenantId: rows.tenantId, title: `${word} event` })
  const own = {
    'sessions/:id': [rows.sessionId],
    'members/:userId': [rows.memberId],
    'contacts/:userId': [rows.memberId],
    'users/:userId': [rows.memberId],
  }
  const store = await furnishStore(daemon, { ...rows, head, word })
  const moduleIds = store.keys['modules/:moduleId']
  const shared = [...moduleIds, ...keys['items/:id']]
  // A module or an item belongs to all tenants, which may install it.
  const named = [...Object.values({ ...own, ...keys, ...store.keys }), event['tasks/:taskId']].flat()
  const ids = [rows.tenantId, rows.headId, store.developerId, ...named.filter((id) => !shared.includes(id))]
  const marks = [rows.headId, word, rows.refreshToken, refreshHash(rows.refreshToken)]
  // A version is a number of its board, and a screenshot one of an item of all tenants: neither is an id of the tenant.
  const others = { 'versions/:version': ['1'], 'screenshots/:id': [newId(systemRandom, 'mss')] }
  const all = { ...own, ...keys, ...store.keys, ...event, ...others }
  return {
    slug,
    tenantId: rows.tenantId,
    head,
    member,
    refreshToken: rows.refreshToken,
    automationKey,
    developerId: store.developerId,
    keys: all,
    ids,
    marks,
  }
}

const bareBoard = {
  elements: [
    { id: 's', kind: 'start' as const, label: 'Start', config: {} },
    { id: 'e', kind: 'end' as const, label: 'End', config: {} },
  ],
  edges: [{ id: 'se', source: 's', target: 'e' }],
}

/** Uses every feature once as its users; the ids by path part and parameter name. */
export async function furnish(
  daemon: RunningDaemon,
  { head, member, memberId, word }: { head: string; member: string; memberId: string; word: string },
) {
  const [boss, plain] = [clientOf(daemon.url, head), clientOf(daemon.url, member)]
  const hidden = await boss.spaces.createSpace({ body: { name: `${word} hidden`, type: 'STAFF', visibility: 'PRIVATE' } })
  const open = await boss.spaces.createSpace({ body: { name: `${word} open`, type: 'GROUP', visibility: 'PUBLIC' } })
  await boss.spaces.putSpaceMember({ params: { spaceId: hidden.id, userId: memberId }, body: { role: 'member' } })
  const folder = await boss.files.createFolder({ params: { spaceId: hidden.id }, body: { name: `${word} folder` } })
  const upload = { content: new Blob([`${word} bytes`]), fileName: `${word}.txt`, fields: { folderId: folder.id } }
  const file = await boss.files.uploadFile({ params: { spaceId: hidden.id }, upload })
  const { logoPath } = await boss.branding.putLogo({ upload: { content: new Blob([aPng(32, 32)]), fileName: `${word}.png` } })
  const task = await boss.tasks.createTask({ body: { title: `${word} task`, spaceId: hidden.id, assigneeId: memberId } })
  const other = await boss.tasks.createTask({ body: { title: `${word} role`, assignedRole: 'teacher', externalId: `${word}-1` } })
  const board = await boss.boards.createBoard({
    body: {
      name: `${word} board`,
      definition: {
        elements: [
          { id: 's', kind: 'start', label: `${word} start`, config: {} },
          { id: 'r', kind: 'report', label: `${word} report`, config: { title: `${word} report`, template: `${word} text` } },
          { id: 't', kind: 'task', label: `${word} step`, config: { assignedRole: 'tenant-admin' } },
          { id: 'e', kind: 'end', label: 'End', config: {} },
        ],
        edges: [
          { id: 'sr', source: 's', target: 'r' },
          { id: 'rt', source: 'r', target: 't' },
          { id: 'te', source: 't', target: 'e' },
        ],
      },
    },
  })
  await boss.boards.publishBoard({ params: { id: board.id } })
  const cron = { id: 'leap', kind: 'cron' as const, expression: '0 0 29 2 *' }
  const timed = await boss.boards.createBoard({
    body: { name: `${word} leap day`, spaceId: hidden.id, definition: { ...bareBoard, triggers: [cron] } },
  })
  await boss.boards.publishBoard({ params: { id: timed.id } })
  const run = await boss.runs.startRun({ params: { id: board.id }, body: { spaceId: hidden.id } })
  const { reports } = await boss.runs.showRun({ params: { id: run.id } })
  for (const { id } of reports) await stored(() => boss.runs.showReport({ params: { id } }))
  const itemId = await anItem(daemon)
  const { subscription } = await boss.marketplace.installMarketplaceItem({ params: { id: itemId } })
  await archive(daemon, itemId)
  await plain.tasks.startTask({ params: { id: task.id } })
  await plain.profile.changeProfile({ body: { displayName: `${word} Anna` } })
  return {
    ...{ 'spaces/:spaceId': [hidden.id, open.id], 'folders/:folderId': [folder.id] },
    ...{
      'files/:fileId': [file.id],
      'logos/:logoId': [logoPath?.split('/').at(-1) as string],
      'tasks/:id': [task.id, other.id],
      'cascade-boards/:id': [board.id, timed.id, subscription.installedTemplateId as string],
    },
    ...{ 'runs/:id': [run.id], 'subscriptions/:id': [subscription.id], 'items/:id': [itemId], 'reports/:id': reports.map(({ id }) => id) },
  }
}

/** A key of an automation tool for one tenant. */
export async function anAutomationKey({ config }: RunningDaemon, slug: string): Promise<string> {
  const { db, close } = openDatabase(config.databaseUrl)
  const deps = { db, clock: systemClock, random: systemRandom }
  const { key } = await createKey(deps, { kind: 'system', name: 'test' }, { name: `key-of-${slug}`, tenants: [slug] })
  await close()
  return key
}

/** A task of an event, as an automation tool creates it. */
export async function anEvent(
  { url }: Pick<RunningDaemon, 'url'>,
  { key, tenantId, title }: Readonly<{ key: string; tenantId: string; title: string }>,
) {
  const eventId = `alarm-${tenantId}`
  const answer = await fetch(`${url}/api/platform/v1/auto-callback/events/${eventId}/create-tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-automation-key': key },
    body: JSON.stringify({ tenantId, tasks: [{ id: title.replaceAll(' ', '-'), title, assignedRole: 'teacher' }] }),
  })
  if (!answer.ok) throw new Error(`the event was not created: ${await answer.text()}`)
  const { tasks } = (await answer.json()) as { tasks: { id: string }[] }
  return { 'events/:eventId': [eventId], 'tasks/:taskId': tasks.map(({ id }) => id) }
}

/** A free flow of the marketplace that is published. */
async function anItem({ config }: RunningDaemon): Promise<string> {
  const { db, close } = openDatabase(config.databaseUrl)
  const id = newId(systemRandom, 'itm')
  const seed = () => db.selectFrom('marketplace_items').selectAll().where('seed_key', '=', 'visitor').executeTakeFirst()
  let found = await seed()
  for (let look = 0; !found && look < 600; look++) {
    await systemClock.sleep(50)
    found = await seed()
  }
  if (!found) throw new Error('the flows of config/marketplace were not published')
  await db
    .insertInto('marketplace_items')
    .values({ ...found, id, slug: id.replaceAll('_', '-'), seed_key: null, seed_hash: null })
    .execute()
  await close()
  return id
}

/** Only a tenant that has installed the item still finds it. */
async function archive({ config }: RunningDaemon, id: string): Promise<void> {
  const { db, close } = openDatabase(config.databaseUrl)
  await db.updateTable('marketplace_items').set({ status: 'archived' }).where('id', '=', id).execute()
  await close()
}

/** Waits until a report has its files: no row of the tenant changes any more then. */
async function stored(read: () => Promise<Readonly<{ status: string }>>): Promise<void> {
  for (let look = 0; (await read()).status === 'pending'; look++) {
    if (look > 600) throw new Error('the report was never stored')
    await systemClock.sleep(50)
  }
}

async function rowsOf({ config }: RunningDaemon, slug: string) {
  const { db, close } = openDatabase(config.databaseUrl)
  const { id: tenantId } = await db.selectFrom('tenants').select('id').where('slug', '=', slug).executeTakeFirstOrThrow()
  const users = await db.selectFrom('users').select('id').where('tenant_id', '=', tenantId).orderBy('localpart').execute()
  const [headId, memberId] = users.map(({ id }) => id) as [string, string]
  const session = await db.selectFrom('sessions').select(['id', 'expires_at']).where('user_id', '=', headId).executeTakeFirstOrThrow()
  const refreshToken = await aRefreshToken(db, session)
  await close()
  return { tenantId, headId, memberId, sessionId: session.id, refreshToken }
}

type Owner = Readonly<{ tenantId: string; headId: string; word: string }>

/** A developer with a submission, and an approved module that the tenant has installed. Returns the ids by place in a path. */
export async function furnishStore(daemon: RunningDaemon, { head, ...owner }: Owner & Readonly<{ head: string }>) {
  const { developerId, keys } = await aSubmission(daemon, owner)
  const moduleIds = keys['modules/:moduleId']
  for (const moduleId of moduleIds) await installModule(daemon, { ...owner, head, moduleId })
  return { developerId, keys: { ...keys, 'installed/:moduleId': moduleIds } }
}

/** A developer with a submission that awaits its review. Its package was never uploaded: no endpoint here reads the bytes. */
async function aSubmission({ config }: RunningDaemon, { tenantId, headId, word }: Owner) {
  const { db, close } = openDatabase(config.databaseUrl)
  const at = isoNow(systemClock)
  const [developerId, artifactId, submissionId] = ['dev', 'art', 'sub'].map((prefix) => newId(systemRandom, prefix)) as [
    string,
    string,
    string,
  ]
  const account = { email: `${word}@example.org`, name: word, organization: word, verified: 0 }
  await db
    .insertInto('store_developers')
    .values({ id: developerId, tenant_id: tenantId, user_id: headId, ...account, created_at: at })
    .execute()
  await db
    .insertInto('store_artifacts')
    .values({ id: artifactId, developer_id: developerId, state: 'stored', bytes: 1, sha256: word, created_at: at })
    .execute()
  const manifest = {
    ...{ id: `${word}-app`, name: word, version: '1.0.0', type: 'A', svcCoreVersion: '>=1.0.0', description: word, license: 'MIT' },
    ...{ author: { name: word, email: account.email }, category: 'other', billing: null, permissions: [], featureFlag: word },
    ...{ main: 'index.js', events: { subscribes: [], publishes: [] }, routes: false, settings: null, dataVersion: 0 },
  }
  const results = { scan: { ok: true, violations: [], files: 1, bytes: 1 }, test: { ok: true, ran: [], ms: 1, log: [] } }
  await db
    .insertInto('store_submissions')
    .values({
      ...{ id: submissionId, developer_id: developerId, artifact_id: artifactId, module_id: manifest.id, name: word, version: '1.0.0' },
      ...{ status: 'in_review', checksum: word, manifest: JSON.stringify(manifest), warnings: '[]', review: null },
      ...{ scan: JSON.stringify(results.scan), test: JSON.stringify(results.test), created_at: at, updated_at: at },
    })
    .execute()
  const approved = await anApprovedModule(db, { developerId, manifest, tenantId, headId })
  await close()
  const one = [submissionId]
  const keys = { 'submissions/:id': one, 'download/:submissionId': one, 'reviews/:id': one, 'artifacts/:key': [artifactId] }
  return {
    developerId,
    keys: {
      ...keys,
      'modules/:moduleId': [approved.moduleId],
      'module-api/:moduleId': [approved.moduleId],
      'ratings/:id': [approved.ratingId],
      'developers/:id': [developerId],
    },
  }
}

type Approved = Readonly<{ developerId: string; manifest: object; tenantId: string; headId: string }>

/** A module in the catalogue of all tenants, with a rating of the user. What it shows has no mark of its tenant. */
async function anApprovedModule(db: Db, { developerId, manifest: like, tenantId, headId }: Approved) {
  const [at, moduleId, name] = [isoNow(systemClock), `app-${newId(systemRandom, 'x').slice(2, 12)}`, 'An app']
  const [artifactId, ratingId] = [newId(systemRandom, 'art'), newId(systemRandom, 'rat')]
  const version = { version: '1.0.0', submission_id: 'sub_old', approved_at: at }
  await db
    .insertInto('store_artifacts')
    .values({ id: artifactId, developer_id: developerId, state: 'stored', bytes: 1, sha256: 'c', created_at: at })
    .execute()
  await db
    .insertInto('store_modules')
    .values({ id: moduleId, developer_id: developerId, feature_flag: moduleId, ...version })
    .execute()
  const author = { name, email: 'app@example.org' }
  const settings = { type: 'object', properties: { label: { type: 'string' }, token: { type: 'string', kind: 'secret' } } }
  const manifest = JSON.stringify({ ...like, id: moduleId, name, description: name, featureFlag: moduleId, author, settings })
  await db
    .insertInto('store_versions')
    .values({
      ...{ module_id: moduleId, ordinal: 1, developer_id: developerId, artifact_id: artifactId, checksum: 'c', manifest },
      ...{ ...version, category: 'other', search: moduleId, key_id: 'k', signature: 's' },
    })
    .execute()
  await db
    .insertInto('store_ratings')
    .values({ id: ratingId, module_id: moduleId, user_id: headId, tenant_id: tenantId, rating: 4, comment: 'good', created_at: at })
    .execute()
  return { moduleId, ratingId }
}

type Installed = Readonly<{ head: string; moduleId: string; tenantId: string; word: string }>

/** An active module with settings, a document and a failed run. */
async function installModule({ url, config }: RunningDaemon, { head, moduleId, tenantId, word }: Installed): Promise<void> {
  const { modules } = clientOf(url, head)
  const params = { moduleId }
  await modules.installModule({ body: { moduleId, approvedPermissions: [] } })
  await modules.activateModule({ params })
  await modules.changeModuleSettings({ params, body: { values: { label: `${word} label`, token: `${word} token` } } })
  const { db, close } = openDatabase(config.databaseUrl)
  const [own, at] = [{ tenant_id: tenantId, module_id: moduleId }, isoNow(systemClock)]
  await db
    .insertInto('module_documents')
    .values({ ...own, generation: 0, key: word, value: JSON.stringify({ word }), version: 1, bytes: 20 })
    .execute()
  const run = { version: '1.0.0', generation: 1, kind: 'route', event_type: null, cause: null, depth: 0, delivery_id: null } as const
  const result = { attempt: 1, status: 'failed', ms: 1, interpreter_ms: 1, violations: '[]', error: word, log: '[]' } as const
  await db
    .insertInto('module_runs')
    .values({ id: newId(systemRandom, 'mru'), ...own, ...run, ...result, created_at: at })
    .execute()
  await close()
}

/** A refresh token like one from a login with `issueRefreshToken`. */
async function aRefreshToken(db: Db, session: { id: string; expires_at: string }): Promise<string> {
  const token = newRefreshToken(systemRandom)
  const made = { token, sessionId: session.id, sessionExpiresAt: session.expires_at, parentHash: null }
  const rules = { absoluteDays: 90, idleDays: 30, graceSeconds: 0, mostPerUser: 100 }
  await db.transaction().execute((tx) => insertRefreshToken(tx, isoNow(systemClock), { ...made, rules }))
  return token
}

/** Tables written by periodic jobs; their content per tenant follows from other tables. */
const restless = new Set([
  'jobs',
  'job_queues',
  'leases',
  'streams',
  'user_login_failures',
  'usage',
  'billing_active_users',
  'budget_episodes',
  'trigger_positions',
])

/** All rows of a tenant in the database, as `table {json}`. */
export async function dumpOf(db: Db, { tenantId, slug, ids }: FurnishedTenant): Promise<readonly string[]> {
  const tables = await tablesOf(db)
  const inSqlite = dialectOf(db) === 'sqlite'
  // One statement: hundreds of dumps of each table would cost more than the requests that they check.
  const selects = tables.map(({ name, columns, hasTenant }) => {
    const row = inSqlite ? sql`json_object(${sql.join(columns.map(pairOf))})` : sql`row_to_json(t)::text`
    const where = hasTenant ? sql`where t.tenant_id = ${tenantId}` : sql``
    return sql`select ${sql.lit(name)} as name, ${sql.lit(hasTenant ? 1 : 0)} as owned, ${row} as line from ${sql.table(name)} t ${where}`
  })
  const { rows } = await sql<{ name: string; owned: number; line: string }>`${sql.join(selects, sql` union all `)}`.execute(db)
  const isTheirs = (row: Record<string, unknown>) => row.id === tenantId || row.subject === slug || ids.includes(row.session_id as string)
  return rows
    .filter(({ owned, line }) => owned === 1 || isTheirs(JSON.parse(line)))
    .map(({ name, line }) => `${name} ${line}`)
    .sort()
}

const pairOf = ({ name, isBlob }: Column) => sql`${sql.lit(name)}, ${isBlob ? sql`hex(t.${sql.ref(name)})` : sql`t.${sql.ref(name)}`}`

type Column = Readonly<{ name: string; isBlob: boolean }>
type Table = Readonly<{ name: string; hasTenant: boolean; columns: readonly Column[] }>
const known = new WeakMap<Db, Promise<readonly Table[]>>()

function tablesOf(db: Db): Promise<readonly Table[]> {
  const tables = known.get(db) ?? readTables(db)
  known.set(db, tables)
  return tables
}

async function readTables(db: Db): Promise<readonly Table[]> {
  const tables = (await db.introspection.getTables()).filter(({ name }) => !restless.has(name))
  return tables.map(({ name, columns }) => ({
    name,
    hasTenant: columns.some((column) => column.name === 'tenant_id'),
    columns: columns.map((column) => ({ name: column.name, isBlob: /blob/i.test(column.dataType) })),
  }))
}

/** Rows of a tenant that refer to another tenant: id columns, except names chosen by others. */
export async function pointersInto(db: Db, from: FurnishedTenant, into: FurnishedTenant): Promise<readonly string[]> {
  const outer = new Set(['external_id', 'event_id', 'run_id'])
  const pointing = (row: object) =>
    Object.entries(row).filter(([name, value]) => /_(id|by|to)$/.test(name) && !outer.has(name) && into.ids.includes(value as string))
  const rows = (await dumpOf(db, from)).map((line) => ({ line, row: JSON.parse(line.slice(line.indexOf(' '))) as object }))
  return rows.filter(({ row }) => pointing(row).length > 0).map(({ line }) => line)
}
