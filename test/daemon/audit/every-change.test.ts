import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { hurriedClock } from '../../support/hurried-clock.ts'
import { lifeWorld } from '../../support/life-world.ts'
import { aPlatformUser } from '../../support/platform-user.ts'
import { type Api, anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

// Every operation that changes something declares in its contract what it writes into the audit log (`audit`), or why it writes nothing. The
// feature writes each declared name; the story below observes it for operations of every kind.

const operations = Object.values(api).flatMap((contract) => Object.entries(contract as Record<string, EndpointShape>))
const changing = operations.filter(([, { method }]) => method !== 'GET')

const namesOf = (operation: string): readonly string[] => {
  const audit = changing.find(([name]) => name === operation)?.[1].audit
  return audit === undefined || (typeof audit === 'object' && 'none' in audit) ? [] : [audit].flat()
}

test('every operation that changes something declares its audit entry', () => {
  const silent = changing.filter(([, { audit }]) => audit === undefined).map(([name]) => name)
  expect(silent, "add `audit: 'notice.created'` to the endpoint, or `audit: { none: 'reason' }`").toEqual([])
})

test('an operation that only reads declares none', () => {
  expect(operations.filter(([, { method, audit }]) => method === 'GET' && audit !== undefined).map(([name]) => name)).toEqual([])
})

test('every declared entry is one that the daemon writes', () => {
  const text = textsIn('src/daemon')
  // The end of a name may be a variable: `box.move.${state}`.
  const isWritten = (name: string) =>
    text.includes(`'${name}'`) || [...name.matchAll(/[.-]/g)].some(({ index }) => text.includes(`\`${name.slice(0, index + 1)}\${`))
  expect(changing.flatMap(([operation]) => namesOf(operation)).filter((name) => !isWritten(name))).toEqual([])
})

/** Runs one operation, and expects the entry of its declared name among those that it wrote. */
const observer = (db: Db) => {
  const entries = async () => (await db.selectFrom('audit').select(['chain', 'seq', 'action']).execute()).map((row) => row)
  return async <Result>(operation: string, name: string, call: () => Promise<Result>): Promise<Result> => {
    expect(namesOf(operation)).toContain(name)
    const before = new Set((await entries()).map(({ chain, seq }) => `${chain} ${seq}`))
    const result = await call()
    const written = (await entries()).filter(({ chain, seq }) => !before.has(`${chain} ${seq}`)).map(({ action }) => action)
    expect(written, operation).toContain(name)
    return result
  }
}

describe('on a running daemon', () => {
  let daemon: RunningDaemon
  let [admin, user] = [] as unknown as [Api, Api]
  let does: ReturnType<typeof observer>
  let db: Db
  let close: () => Promise<void>

  beforeAll(async () => {
    daemon = await aRunningDaemon({ clock: hurriedClock })
    admin = clientOf(daemon.url, await loggedIn(daemon, 'admin'))
    user = clientOf(daemon.url, await aPlatformUser(daemon, { tenant: 'one', roles: ['tenant-admin'] }))
    const opened = openDatabase(daemon.config.databaseUrl)
    db = opened.db
    close = opened.close
    does = observer(db)
  })
  afterAll(async () => {
    await close()
    await daemon.close()
  })

  test('accounts, sessions and tokens of operators', async () => {
    const open = clientOf(daemon.url)
    const { account, initialPassword } = await does('createAccount', 'account.created', () =>
      admin.admin.createAccount({ body: { name: 'ben', role: 'viewer' } }),
    )
    const params = { id: account.id }
    const logIn = async (password: string) =>
      clientOf(daemon.url, `Bearer ${(await open.admin.login({ body: { name: 'ben', password } })).token}`)
    const ben = await does('login', 'session.opened', () => logIn(initialPassword))
    const password = 'a long enough password'
    await does('changePassword', 'account.password-changed', () =>
      ben.admin.changePassword({ body: { currentPassword: initialPassword, newPassword: password } }),
    )
    await does('reauthenticate', 'session.reauthenticated', () => ben.admin.reauthenticate({ body: { password } }))
    const { secret } = await does('enrolTotp', 'account.totp-begun', () => ben.admin.enrolTotp({ body: { password } }))
    const code = (stepsAhead: number) => new TOTP({ secret }).generate({ timestamp: hurriedClock.now().getTime() + stepsAhead * 30_000 })
    await does('confirmTotp', 'account.totp-enabled', () => ben.admin.confirmTotp({ body: { totp: code(0) } }))
    await does('disableTotp', 'account.totp-disabled', () => ben.admin.disableTotp({ body: { password, totp: code(1) } }))
    await does('logout', 'session.closed', () => ben.admin.logout())
    await logIn(password)
    const session = await db
      .selectFrom('admin_sessions')
      .select('id')
      .where('account_id', '=', account.id)
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow()
    await does('revokeSession', 'session.revoked', () => admin.admin.revokeSession({ params: { id: session.id as never } }))
    await does('changeAccountRole', 'account.role-changed', () => admin.admin.changeAccountRole({ params, body: { role: 'operator' } }))
    await does('resetPassword', 'account.password-reset', () => admin.admin.resetPassword({ params }))
    await does('disableAccount', 'account.disabled', () => admin.admin.disableAccount({ params }))
    const token = await does('createToken', 'token.created', () => admin.admin.createToken({ body: { name: 'ci', role: 'viewer' } }))
    await does('revokeToken', 'token.revoked', () => admin.admin.revokeToken({ params: { id: token.id } }))
  })

  test('scheduled jobs', async () => {
    await does('triggerCron', 'cron.triggered', () => admin.crons.triggerCron({ params: { jobKey: 'housekeeping' } }))
  })

  test('hosts and registries', async () => {
    await does('inviteHost', 'host.invited', () => admin.hosts.inviteHost({ body: { name: 'host-0' } }))
    const bearer = await loggedIn(daemon, 'operator')
    await does('enrolHost', 'host.enrolled', () => anAgent(daemon, bearer, 'host-1'))
    const registry = { registry: 'registry.example', host: null }
    await does('setRegistry', 'registry.set', () =>
      admin.hosts.setRegistry({ body: { ...registry, username: 'puller', password: 'secret' } }),
    )
    await does('removeRegistry', 'registry.removed', () => admin.hosts.removeRegistry({ body: registry }))
    const params = { name: 'host-1' }
    await does('setPlatformAddress', 'host.platform-address', () =>
      admin.homeserver.setPlatformAddress({ params, body: { address: null } }),
    )
    await does('revokeHost', 'host.revoked', () => admin.hosts.revokeHost({ params, body: { reason: 'it was stolen' } }))
  })

  test('tenants, users and spaces', async () => {
    const tenant = { slug: 'two', name: 'Two', plan: 'light', chatDomain: 'chat.two.example' } as const
    const params = { slug: 'two' }
    await does('createTenant', 'tenant.created', () => admin.tenants.createTenant({ body: tenant }))
    await does('changeTenant', 'tenant.changed', () => admin.tenants.changeTenant({ params, body: { name: 'Zwei' } }))
    await does('suspendTenant', 'tenant.suspended', () => admin.tenants.suspendTenant({ params, body: { reason: 'unpaid' } }))
    await does('resumeTenant', 'tenant.resumed', () => admin.tenants.resumeTenant({ params }))

    const member = await aPlatformUser(daemon, { tenant: 'one', localpart: 'mia' })
    const { id: userId } = await db.selectFrom('users').select('id').where('localpart', '=', 'mia').executeTakeFirstOrThrow()
    const space = await does('createSpace', 'space.created', () =>
      user.spaces.createSpace({ body: { name: '4b', type: 'STAFF', visibility: 'PRIVATE' } }),
    )
    const of = { spaceId: space.id }
    await does('changeSpace', 'space.updated', () => user.spaces.changeSpace({ params: of, body: { name: '4c' } }))
    const put = (role: 'member' | 'owner') => () => user.spaces.putSpaceMember({ params: { ...of, userId }, body: { role } })
    await does('putSpaceMember', 'space.member-added', put('member'))
    await does('putSpaceMember', 'space.member-changed', put('owner'))
    await does('removeSpaceMember', 'space.member-removed', () => user.spaces.removeSpaceMember({ params: { ...of, userId } }))
    const named = await db.selectFrom('audit').select('data').where('action', 'like', 'space.member-%').execute()
    expect(named.map(({ data }) => JSON.parse(data))).toEqual([
      { spaceId: space.id, space: '4c', userId, user: 'mia', role: 'member' },
      { spaceId: space.id, space: '4c', userId, user: 'mia', role: 'owner' },
      { spaceId: space.id, space: '4c', userId, user: 'mia' },
    ])
    await does('deleteSpace', 'space.deleted', () => user.spaces.deleteSpace({ params: of }))

    const mia = { slug: 'one', localpart: 'mia' }
    await does('changeUser', 'user.changed', () => admin.users.changeUser({ params: mia, body: { displayName: 'Mia' } }))
    const { id } = await db.selectFrom('sessions').select('id').where('user_id', '=', userId).executeTakeFirstOrThrow()
    await does('revokeUserSession', 'user-session.revoked', () =>
      admin.sessions.revokeUserSession({ params: { slug: 'one', id: id as never } }),
    )
    await does('disableUser', 'user.disabled', () => admin.users.disableUser({ params: mia, body: { reason: 'left' } }))
    await does('enableUser', 'user.enabled', () => admin.users.enableUser({ params: mia }))
    await does('eraseUser', 'user.erased', () => admin.privacy.eraseUser({ params: mia }))
    expect(member).toMatch(/^Bearer /)
  })
})

test('boxes', async () => {
  const { db } = await emptyDatabase('sqlite')
  const world = await lifeWorld(db)
  const [boxes, does] = [await world.api(), observer(db)]
  const params = { slug: 'oak' }
  const tenant = { name: 'Elm', plan: 'light', chatDomain: 'chat.elm.example', host: 'host-1' } as const
  await world.aBox('oak')
  await does('changeBox', 'box.canary', () => boxes.changeBox({ params, body: { canary: true } }))
  await does('scanBoxes', 'boxes.scan', () => boxes.scanBoxes({ body: {} }))
  await does('checkBox', 'box.check', () => boxes.checkBox({ params }))
  await does('readLogs', 'box.logs', () => boxes.readLogs({ params, body: {} }))
  await does('maintainBox', 'box.maintenance.on', () => boxes.maintainBox({ params, body: { on: true, reason: 'its disk' } }))
  await does('provisionBox', 'box.provision', () => boxes.provisionBox({ body: { ...tenant, slug: 'elm' } }))
  const ash = { ...tenant, slug: 'ash', name: 'Ash', chatDomain: 'chat.ash.example', folder: '/srv/ash', project: 'ash' }
  await does('adoptBox', 'box.adopt', () => boxes.adoptBox({ body: ash }))
  await db
    .updateTable('boxes')
    .set({ live: 1, managed: 0 } as never)
    .where('slug', '=', 'ash')
    .execute()
  await db.destroy()
})

const textsIn = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
