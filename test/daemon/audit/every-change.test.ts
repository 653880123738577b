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

// Every operation that changes something declares here what it writes into the audit log. An operation of the contract that is missing fails the
// first test. Each name is either seen in the story below, or asserted in a test of its feature.

const elsewhere = (feature: string, ...names: string[]) => ({ folder: `test/daemon/${feature}`, names })
const nothing = (reason: string) => ({ reason })
type Declared = readonly string[] | ReturnType<typeof elsewhere> | ReturnType<typeof nothing>

const ofAgents = nothing('what an agent reports is stored as events and evidence; its results are audited by the feature they concern')
const ofUsers = nothing('users work with their own data; tasks and files tell it as events')
const ofTools = nothing('tasks and files of automation tools are told as events; their messages stand in the chat')
const readsOnly = nothing('changes nothing')

const declared: Readonly<Record<string, Declared>> = {
  // admin
  login: ['session.opened'],
  logout: ['session.closed'],
  openConsole: elsewhere('admin', 'session.opened'),
  openConsoleByLink: elsewhere('admin', 'session.opened'),
  closeConsole: elsewhere('admin', 'session.closed'),
  changePassword: ['account.password-changed'],
  enrolTotp: ['account.totp-begun'],
  confirmTotp: ['account.totp-enabled'],
  disableTotp: ['account.totp-disabled'],
  reauthenticate: ['session.reauthenticated'],
  revokeSession: ['session.revoked'],
  createAccount: ['account.created'],
  disableAccount: ['account.disabled'],
  resetPassword: ['account.password-reset'],
  changeAccountRole: ['account.role-changed'],
  createToken: ['token.created'],
  revokeToken: ['token.revoked'],
  signCheckpoint: nothing('signs the log and adds nothing to it'),
  // alerts, jobs, crons
  acknowledgeAlert: elsewhere('alerts', 'alert.acknowledged'),
  resendAlert: elsewhere('alerts', 'alert.resent'),
  testAlerts: elsewhere('alerts', 'alerts.tested'),
  retryJobs: elsewhere('alerts', 'outbox.retried'),
  triggerCron: ['cron.triggered'],
  // rollouts
  rehearseRollout: readsOnly,
  planRollout: readsOnly,
  createRollout: elsewhere('rollouts', 'rollout.created'),
  startRollout: elsewhere('rollouts', 'rollout.started'),
  pauseRollout: elsewhere('rollouts', 'rollout.paused'),
  resumeRollout: elsewhere('rollouts', 'rollout.resumed'),
  promoteRollout: elsewhere('rollouts', 'rollout.promoted'),
  abortRollout: elsewhere('rollouts', 'rollout.failed'),
  rollbackRollout: elsewhere('rollouts', 'rollout.rolled_back'),
  planRollback: readsOnly,
  resumeRollback: elsewhere('rollouts', 'rollout.undo.resumed'),
  stopRollback: elsewhere('rollouts', 'rollout.undo.stopped'),
  createEmergency: elsewhere('rollouts', 'rollout.created', 'rollout.emergency.wrong_token'),
  // boxes
  maintainBox: ['box.maintenance.on'],
  restartBox: elsewhere('boxes', 'box.restart'),
  readLogs: ['box.logs'],
  planMove: readsOnly,
  moveBox: elsewhere('boxes', 'box.move.handing_over', 'box.move.done'),
  confirmMove: elsewhere('boxes', 'box.move.done'),
  giveBackBox: elsewhere('boxes', 'box.move.taking_over'),
  removeBox: elsewhere('boxes', 'box.removal.handing_over', 'box.removal.kept'),
  undoRemoval: elsewhere('boxes', 'box.removal.handing_over'),
  completeBox: ['box.complete.asked'],
  releaseBox: elsewhere('boxes', 'box.released'),
  diffManifest: readsOnly,
  resolveManifest: readsOnly,
  applyManifest: elsewhere('boxes', 'manifest.applied'),
  provisionBox: ['box.provision'],
  adoptBox: ['box.adopt'],
  adoptAgain: elsewhere('boxes', 'box.adopt.again'),
  scanBoxes: ['boxes.scan'],
  checkBox: ['box.check'],
  changeBox: ['box.canary'],
  takeSnapshot: elsewhere('snapshots', 'snapshot.take'),
  restoreBox: elsewhere('snapshots', 'box.restore', 'box.restored'),
  drillBox: elsewhere('snapshots', 'box.drill'),
  abandonSnapshots: elsewhere('snapshots', 'snapshots.abandoned'),
  // boards
  createBoard: ofUsers,
  saveBoard: ofUsers,
  deleteBoard: ofUsers,
  importBoard: ofUsers,
  simulateBoard: readsOnly,
  importTenantBoard: elsewhere('boards', 'board.imported'),
  checkTenantBoard: readsOnly,
  simulateTenantBoard: elsewhere('boards', 'support.used'),
  readTenantRun: elsewhere('runs', 'support.used'),
  cancelTenantRuns: elsewhere('runs', 'run.cancelled'),
  retryTenantRuns: elsewhere('runs', 'run.retried'),
  grantSupportAccess: elsewhere('boards', 'support.granted'),
  revokeSupportAccess: elsewhere('boards', 'support.revoked'),
  checkBoard: readsOnly,
  publishBoard: elsewhere('boards', 'board.published'),
  archiveBoard: elsewhere('boards', 'board.archived'),
  startRun: ofUsers,
  advanceRun: elsewhere('runs', 'run.skipped'),
  cancelRun: elsewhere('runs', 'run.cancelled'),
  retryRun: elsewhere('runs', 'run.retried'),
  // automation
  createAutomationKey: elsewhere('automation', 'automation-key.created'),
  revokeAutomationKey: elsewhere('automation', 'automation-key.revoked'),
  rotateChatCredentials: elsewhere('automation', 'automation.credentials-rotated'),
  createEventTasks: ofTools,
  createEventRoom: elsewhere('automation', 'automation.room-created'),
  notifyEventRoom: ofTools,
  escalateEventTask: ofTools,
  generateEventReport: ofTools,
  createTenantSpace: elsewhere('automation', 'space.created'),
  addTenantSpaceMember: elsewhere('automation', 'space.member-added'),
  sendTenantMessage: ofTools,
  // marketplace
  submitItem: nothing('a stranger has no account; the submission itself is the record'),
  confirmVendorAddress: elsewhere('marketplace', 'marketplace.address-proven'),
  repeatSubmission: nothing('as the first sending of a submission'),
  approveMarketplaceSubmission: elsewhere('marketplace', 'marketplace.submission-approved'),
  rejectMarketplaceSubmission: elsewhere('marketplace', 'marketplace.submission-rejected'),
  requestMarketplaceChanges: elsewhere('marketplace', 'marketplace.submission-needs-changes'),
  changeItem: elsewhere('marketplace', 'marketplace.item-changed'),
  createVendor: elsewhere('marketplace', 'marketplace.vendor-created'),
  changeVendor: elsewhere('marketplace', 'marketplace.vendor-changed'),
  createPaymentCustomer: elsewhere('billing', 'payment.setup-link'),
  acceptDifference: elsewhere('billing', 'billing.difference-accepted'),
  waiveUsage: elsewhere('billing', 'billing.usage-waived'),
  setDeveloperVendor: elsewhere('billing', 'billing.developer-vendor'),
  installMarketplaceItem: elsewhere('marketplace', 'marketplace.installed'),
  uninstallMarketplaceItem: elsewhere('marketplace', 'marketplace.uninstalled'),
  updateMarketplaceItem: elsewhere('marketplace', 'marketplace.updated'),
  onboardVendor: elsewhere('payments', 'payment.onboarding-link'),
  syncVendor: elsewhere('payments', 'payment.account-changed'),
  receivePaymentEvent: nothing('the provider; what the event changes is audited'),
  replayPaymentEvent: elsewhere('payments', 'payment.event-replayed'),
  // modules of tenants
  installModule: elsewhere('modules', 'module.installed'),
  activateModule: elsewhere('modules', 'module.activated'),
  deactivateModule: elsewhere('modules', 'module.deactivated'),
  uninstallModule: elsewhere('modules', 'module.uninstalled'),
  updateModule: elsewhere('modules', 'module.updated'),
  rollbackModule: elsewhere('modules', 'module.rolled_back'),
  pauseModule: elsewhere('modules', 'module.paused'),
  resumeModule: elsewhere('modules', 'module.resumed'),
  changeModuleSettings: elsewhere('modules', 'module.settings-changed'),
  withdrawModule: elsewhere('modules', 'module.withdrawn'),
  restoreModule: elsewhere('modules', 'module.restored'),
  // services of modules
  setModuleUpstream: elsewhere('module-services', 'module.upstream_set'),
  // modules
  callModule: ofUsers,
  // store of modules
  createStoreInvite: elsewhere('store', 'store.invite-created'),
  registerDeveloper: elsewhere('store', 'store.developer-registered'),
  uploadModule: elsewhere('store', 'store.module-submitted'),
  reviewSubmission: elsewhere('store', 'store.module-approved', 'store.module-rejected'),
  submitModule: nothing('it confirms the submission of an upload, which is audited'),
  verifyDeveloper: elsewhere('store', 'store.developer-verified', 'store.developer-unverified'),
  rateModule: ofUsers,
  removeRatingComment: elsewhere('store', 'store.comment-removed'),
  // hosts
  inviteHost: ['host.invited'],
  revokeHost: ['host.revoked'],
  setRegistry: ['registry.set'],
  removeRegistry: ['registry.removed'],
  setPlatformAddress: ['host.platform-address'],
  enrolHost: ['host.enrolled'],
  rotateKey: elsewhere('hosts', 'host.key_announced', 'host.key_rotated'),
  hello: ofAgents,
  nextCommand: ofAgents,
  heartbeat: ofAgents,
  postProgress: ofAgents,
  postResult: ofAgents,
  commandSecrets: ofAgents,
  postOutputs: ofAgents,
  postReports: ofAgents,
  // tenants and their users
  createTenant: ['tenant.created'],
  changeTenant: ['tenant.changed'],
  suspendTenant: ['tenant.suspended'],
  resumeTenant: ['tenant.resumed'],
  createUser: elsewhere('users', 'user.created'),
  importUsers: elsewhere('users', 'user.created'),
  changeUser: ['user.changed'],
  resetUserPassword: elsewhere('users', 'user.password-reset'),
  reconcileBox: elsewhere('users', 'box.reconcile'),
  disableUser: ['user.disabled'],
  eraseUser: ['user.erased'],
  exportTenant: elsewhere('privacy', 'tenant.exported'),
  deleteTenant: elsewhere('privacy', 'tenant.deleting', 'tenant.deleted'),
  enableUser: ['user.enabled'],
  userLogin: nothing('logins of users are sessions, and failed ones are counted'),
  refresh: nothing('a session goes on'),
  userLogout: nothing('users end their own sessions'),
  changeUserPassword: elsewhere('sessions', 'user.password-changed'),
  revokeOwnSession: nothing('users end their own sessions'),
  revokeUserSession: ['user-session.revoked'],
  changeProfile: ofUsers,
  createTask: ofUsers,
  changeTask: ofUsers,
  startTask: ofUsers,
  assignTask: ofUsers,
  completeTask: ofUsers,
  cancelTask: ofUsers,
  escalateTask: ofUsers,
  createSpace: ['space.created'],
  changeSpace: ['space.updated'],
  deleteSpace: ['space.deleted'],
  putSpaceMember: ['space.member-added', 'space.member-changed'],
  removeSpaceMember: ['space.member-removed'],
  createFolder: ofUsers,
  deleteFolder: ofUsers,
  uploadFile: ofUsers,
  changeFile: ofUsers,
  deleteFile: ofUsers,
  restoreFile: ofUsers,
}

const operations = Object.values(api).flatMap((contract) => Object.entries(contract as Record<string, EndpointShape>))
const changing = operations.filter(([, { method }]) => method !== 'GET').map(([name]) => name)
const namesOf = (operation: string): readonly string[] => {
  const one = declared[operation] as Declared
  return Array.isArray(one) ? one : 'names' in one ? one.names : []
}

test('every operation that changes something declares its audit entries', () => {
  expect(Object.keys(declared).toSorted()).toEqual(changing.toSorted())
})

const seen = new Set<string>()

/** Runs one operation, and expects the entry of its declared name among those that it wrote. */
const observer = (db: Db) => {
  const entries = async () => (await db.selectFrom('audit').select(['chain', 'seq', 'action']).execute()).map((row) => row)
  return async <Result>(operation: string, name: string, call: () => Promise<Result>): Promise<Result> => {
    expect(namesOf(operation)).toContain(name)
    const before = new Set((await entries()).map(({ chain, seq }) => `${chain} ${seq}`))
    const result = await call()
    const written = (await entries()).filter(({ chain, seq }) => !before.has(`${chain} ${seq}`)).map(({ action }) => action)
    expect(written, operation).toContain(name)
    seen.add(name)
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
  await does('completeBox', 'box.complete.asked', () => boxes.completeBox({ params: { slug: 'ash' }, body: { expected: null } }))
  await db.destroy()
})

test('every declared name was seen here, or is asserted in a test of its feature', () => {
  const missing = Object.entries(declared).flatMap(([operation, one]) =>
    namesOf(operation)
      .filter((name) => !('folder' in one ? isAsserted(one.folder, name) : seen.has(name)))
      .map((name) => `${operation}: ${name}`),
  )
  expect(missing).toEqual([])
})

const texts = new Map<string, string>()
function isAsserted(folder: string, name: string): boolean {
  if (!texts.has(folder)) texts.set(folder, testsIn(folder))
  return texts.get(folder)?.includes(`'${name}'`) ?? false
}

const testsIn = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
