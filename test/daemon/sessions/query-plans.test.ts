import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { bootstrapOf } from '../../../src/daemon/bootstrap/bootstrap-of.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { refresh } from '../../../src/daemon/sessions/refresh.ts'
import { listOwnSessions, listUserSessions } from '../../../src/daemon/sessions/user-sessions.ts'
import { spacesOf } from '../../../src/daemon/spaces/index.ts'
import { listTenants } from '../../../src/daemon/tenants/show-tenants.ts'
import { existingUser, listUsers } from '../../../src/daemon/users/show-users.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aChatUser, aSessionsRoom, logIn, type SessionsRoom, twoTenants } from '../../support/sessions-room.ts'

// With a million users, one statement without an index is the end of every login. Whatever is asked on the way of people is explained.

const grown = [
  'tenants',
  'users',
  'sessions',
  'refresh_tokens',
  'user_login_failures',
  'user_login_networks',
  'streams',
  'events',
  'boxes',
  'tasks',
  'spaces',
  'space_members',
]
const windows = { timeZone: 'UTC', windows: { free: null, pro: null, enterprise: null } }

let db: Db
let room: SessionsRoom
let said: RootOperationNode[] = []

const listening: KyselyPlugin = {
  transformQuery: ({ node }) => {
    said.push(node)
    return node
  },
  transformResult: async ({ result }) => result,
}

beforeAll(async () => {
  const opened = await emptyDatabase('sqlite')
  db = opened.db.withPlugin(listening)
  const servers = await twoTenants(db)
  await aChatUser(servers.ten_one)
  room = await aSessionsRoom(db, servers)
  await logIn(room)
  return async () => {
    room.stop()
    await opened.db.destroy()
  }
})

/** How SQLite looks for the rows of each statement that the work says. */
async function scansOf(work: () => Promise<unknown>): Promise<string[]> {
  said = []
  await work()
  const nodes = said
  expect(nodes.length).toBeGreaterThan(0)
  const scans: string[] = []
  for (const node of nodes) {
    const compiled = db.getExecutor().compileQuery(node, { queryId: 'plan' })
    if (!/^\s*(select|insert|update|delete|with)\b/i.test(compiled.sql)) continue
    const parameters = compiled.parameters.map((one) => (typeof one === 'object' ? null : one))
    const { rows } = await db.executeQuery<{ detail: string }>({ ...compiled, sql: `explain query plan ${compiled.sql}`, parameters })
    scans.push(...rows.map(({ detail }) => detail).filter((detail) => grown.includes(/^SCAN (\w+)/.exec(detail)?.[1] ?? '')))
  }
  return scans
}

const tokenOf = async () => (await logIn(room)).refreshToken as string
const callerOf = async () => room.authenticate(`Bearer ${(await logIn(room)).token}`)

test('a login reads no table from end to end, by slug, by domain, right or unknown', async () => {
  expect(await scansOf(() => logIn(room))).toEqual([])
  expect(await scansOf(() => logIn(room, { tenant: 'chat.one.example' }))).toEqual([])
})

test('neither does a refresh, nor the first call of a session', async () => {
  const refreshToken = await tokenOf()
  expect(await scansOf(() => refresh(room, { refreshToken }))).toEqual([])
  expect(await scansOf(() => refresh(room, { refreshToken }).catch(() => undefined))).toEqual([]) // reuse
  const { token } = await logIn(room)
  expect(await scansOf(() => room.authenticate(`Bearer ${token}`))).toEqual([])
})

test('neither does a bootstrap document, nor the question whether it still holds', async () => {
  const caller = await callerOf()
  const documentOf = bootstrapOf({ ...room, spacesOf, modulesOf: async () => [] } as never)
  expect(await scansOf(() => documentOf(caller))).toEqual([])
  expect(await scansOf(() => documentOf(caller))).toEqual([])
})

test('neither do the lists of users and sessions, on any page', async () => {
  const caller = await callerOf()
  const needs = { ...room, windows }
  expect(await scansOf(() => listUsers(needs, { slug: 'one', limit: 50 }))).toEqual([])
  expect(await scansOf(() => listUsers(needs, { slug: 'one', status: 'active', cursor: 'a', limit: 50 }))).toEqual([])
  expect(await scansOf(() => existingUser(db, { slug: 'one', localpart: 'anna' }))).toEqual([])
  expect(await scansOf(() => listOwnSessions(needs, caller, { limit: 50 }))).toEqual([])
  expect(await scansOf(() => listUserSessions(needs, { slug: 'one', user: 'anna', ended: false, limit: 50 }))).toEqual([])
})

test('the list of tenants goes along its index and stops at the end of the page', async () => {
  const needs = { ...room, windows }
  expect(await scansOf(() => listTenants(needs, { cursor: 'a', limit: 50 }))).toEqual([])
  const first = await scansOf(() => listTenants(needs, { limit: 50 }))
  expect(first).toEqual([expect.stringMatching(/^SCAN tenants USING INDEX/)])
  expect(first).not.toContain('USE TEMP B-TREE FOR ORDER BY')
})

test('a statement without an index would be found', async () => {
  expect(await scansOf(() => sql`select id from users where display_name = 'Anna'`.execute(db))).toEqual(['SCAN users'])
})
