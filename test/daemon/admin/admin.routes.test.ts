import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminContract } from '../../../src/core/admin/index.ts'
import { auditContract } from '../../../src/core/audit/index.ts'
import { authContract } from '../../../src/core/auth/index.ts'
import { adminRoles, makeClient } from '../../../src/core/contract/index.ts'
import { adminRoutes } from '../../../src/daemon/admin/index.ts'
import { auditRoutes } from '../../../src/daemon/audit/index.ts'
import { authRoutes } from '../../../src/daemon/auth/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { type AdminWorld, anAccount, anAdminWorld, aPassword, aSession } from '../../support/admin-world.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { standingApp } from '../../support/served-app.ts'

const contract = { ...adminContract, ...auditContract, ...authContract }
let room: AdminWorld
let app: Awaited<ReturnType<typeof standingApp>>
let dataDir: string
const authorizations: Record<string, string> = {}

const clientOf = (who: string) => makeClient(contract, { baseUrl: app.url, headers: () => ({ authorization: authorizations[who] ?? '' }) })

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tenantry-admin-'))
  const { db } = await emptyDatabase('sqlite')
  room = await anAdminWorld(db)
  const served = [...adminRoutes(room), ...auditRoutes({ ...room, log: silentLogger(), dataDir }), ...authRoutes(room)]
  app = await standingApp(served, { authenticate: { admin: room.authenticate }, clock: room.clock })
  for (const role of adminRoles) {
    await anAccount(room, `the-${role}`, role)
    authorizations[role] = (await aSession(room, `the-${role}`)).authorization
  }
  const { token } = await clientOf('admin').createToken({ body: { name: 'ci', role: 'operator', days: 7 } })
  authorizations.token = `Bearer ${token}`
})
afterAll(async () => {
  room.stop()
  await app.close()
  await rm(dataDir, { recursive: true, force: true })
})

describe('over HTTP', () => {
  test('login, whoami, logout', async () => {
    await room.clock.advance(3000)
    const { token, account, setup } = await clientOf('nobody').login({ body: { name: 'The-Viewer', password: aPassword } })
    expect([account.role, setup]).toEqual(['viewer', []])
    authorizations.guest = `Bearer ${token}`
    expect(await clientOf('guest').whoAmI()).toMatchObject({ account: { name: 'the-viewer' }, token: null, setup: [] })
    await clientOf('guest').logout()
    await expect(clientOf('guest').whoAmI()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('whoami of an API token shows its kind', async () => {
    expect(await clientOf('token').whoAmI()).toMatchObject({ account: { role: 'operator' }, sessionId: null, token: { name: 'ci' } })
  })

  test('a created account logs in once and must change its password; the audit log records it and stays valid', async () => {
    await room.clock.advance(3000)
    const { account, initialPassword } = await clientOf('admin').createAccount({ body: { name: 'dora', role: 'operator' } })
    expect(account).toMatchObject({ name: 'dora', mustChangePassword: true, createdBy: 'the-admin' })
    const { token, setup } = await clientOf('nobody').login({ body: { name: 'dora', password: initialPassword } })
    expect(setup).toEqual(['password'])
    authorizations.dora = `Bearer ${token}`
    await expect(clientOf('dora').listAudit()).rejects.toMatchObject({ code: 'SETUP_REQUIRED', status: 403 })
    await clientOf('dora').changePassword({ body: { currentPassword: initialPassword, newPassword: aPassword } })
    const { entries } = await clientOf('dora').listAudit({ query: { subject: 'dora' } })
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
      ['account.password-changed', 'admin:dora'],
      ['account.created', 'admin:the-admin'],
    ])
    expect((await clientOf('dora').verifyAudit()).chains).toMatchObject([{ chain: 'admin', ok: true }])
  })

  test('account names are unique', async () => {
    await clientOf('admin').createAccount({ body: { name: 'twice', role: 'viewer' } })
    const again = clientOf('admin').createAccount({ body: { name: 'TWICE', role: 'viewer' } })
    await expect(again).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    const token = () => clientOf('admin').createToken({ body: { name: 'twice', role: 'viewer' } })
    await token()
    await expect(token()).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  })

  test('a password reset ends the sessions and returns a one-time password', async () => {
    await room.clock.advance(3000)
    const { id } = await anAccount(room, 'emil', 'viewer')
    const { authorization } = await aSession(room, 'emil')
    const { initialPassword } = await clientOf('admin').resetPassword({ params: { id } })
    await expect(room.authenticate(authorization)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const { setup } = await clientOf('nobody').login({ body: { name: 'emil', password: initialPassword } })
    expect(setup).toEqual(['password'])
  })

  test('only admins list and end sessions of others', async () => {
    const { sessions: own } = await clientOf('viewer').listSessions()
    expect(own.filter(({ current }) => current)).toHaveLength(1)
    expect(own.every(({ accountName }) => accountName === 'the-viewer')).toBe(true)
    await expect(clientOf('viewer').listSessions({ query: { all: 'true' } })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const { sessions } = await clientOf('admin').listSessions({ query: { all: 'true' } })
    const id = sessions.find(({ accountName }) => accountName === 'the-reviewer')?.id as string
    await expect(clientOf('viewer').revokeSession({ params: { id } })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await clientOf('admin').revokeSession({ params: { id } })
    await expect(clientOf('reviewer').whoAmI()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('the eleventh login within a second from one address is refused before its password is checked', async () => {
    await room.clock.advance(3000)
    const tries = await Promise.allSettled(
      Array.from({ length: 11 }, (_, n) => clientOf('nobody').login({ body: { name: `n${n}`, password: 'x' } })),
    )
    const codes = tries.map((one) => (one.status === 'rejected' ? one.reason.code : 'in'))
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(1)
  })

  test('the published keys are public keys', async () => {
    const { keys } = await clientOf('nobody').jwks()
    expect(keys).toMatchObject([{ kty: 'EC', alg: 'ES256', use: 'sig' }])
    expect(keys[0]).not.toHaveProperty('d')
  })

  test('a lock is shown in the list of accounts', async () => {
    await anAccount(room, 'frida', 'viewer')
    for (let n = 0; n < 10; n++) {
      await room.clock.advance(1000)
      await clientOf('nobody')
        .login({ body: { name: 'frida', password: 'x' } })
        .catch(() => undefined)
    }
    const { accounts } = await clientOf('admin').listAccounts()
    expect(accounts.find(({ name }) => name === 'frida')?.lockedUntil).toMatch(/^2026-/)
  })
})
