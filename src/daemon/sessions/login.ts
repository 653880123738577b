import { type Clock, isoNow, newId, problem } from '../../core/kit/index.ts'
import { deviceNameOf, networkOf, sessionEnd } from '../../core/sessions/index.ts'
import { tenantSuspended } from '../../core/tenants/index.ts'
import { canonicalLocalpart, matrixUserIdOf } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { forNoKeyUpdate, type Tx, type WithTx } from '../db/index.ts'
import { publicHostOf } from '../homeserver/index.ts'
import { type TenantRecord, tenantById, tenantByName } from '../tenants/index.ts'
import { ensureUser, findUser, type UserRecord } from '../users/index.ts'
import type { SessionsDeps } from './deps.ts'
import { endSessions } from './end-sessions.ts'
import { recordSuccess, refused } from './login-attempts.ts'
import { logoutDevice, orLogoutDevice, type Proof, provePassword, withConstantTimeRefusal } from './prove-password.ts'
import { insertRefreshToken, insertSession, newRefreshToken, sessionsBeyond } from './sessions.repo.ts'
import { issueToken } from './tokens.ts'

type LoginInput = Readonly<{
  tenant: string
  username: string
  password: string
  deviceName?: string | undefined
  issueRefreshToken: boolean
  /** False: the chat device that proved the password is logged out again. */
  chat?: boolean | undefined
  address: string
  signal?: AbortSignal | undefined
  /** Called with the tenant of a successful login. */
  setTenant?: (tenantId: string) => void
  /** Called with tenant and user, as far as they exist, before the password is checked. */
  setCaller?: (caller: Readonly<{ tenant: string | undefined; user: string | undefined }>) => void
}>

type LoginResult = Readonly<{
  token: string
  expiresIn: number
  matrixAccessToken: string
  matrixUserId: string
  homeserver: string
  passwordChangeRequired?: true
  refreshToken?: string
  refreshTokenExpiresAt?: string
}>

/** An existing tenant whose chat server is away is answered when an unknown one is, so that time does not show it. */
const delayedCodes = ['LOGIN_FAILED', 'HOMESERVER_UNREACHABLE'] as const

/** Logs in to platform and chat (spec 2.2, 2.3). All refusals are alike, in content and in response time; only the right password shows that a tenant is suspended. */
export const login = (deps: SessionsDeps, input: LoginInput): Promise<LoginResult> =>
  withConstantTimeRefusal(deps, () => logIn(deps, input), delayedCodes)

/** Find tenant and user, prove the password, open the session in one transaction, then issue the token. */
async function logIn(deps: SessionsDeps, { tenant: tenantEntered, deviceName: requested, setTenant, setCaller, ...input }: LoginInput) {
  const deviceName = deviceNameOf(requested)
  const tenant = await tenantByName(deps.db, tenantEntered)
  const before = tenant && (await findUser(deps.db, { tenantId: tenant.id, localpart: canonicalLocalpart(input.username) }))
  setCaller?.({ tenant: tenant?.slug, user: before?.id })
  const credentials = { ...input, tenant, tenantEntered, deviceName }
  const { proof, used: session } = await provePassword(deps, credentials, (proof) =>
    deps.db.transaction().execute((tx) => openSession({ ...deps, tx }, proof, { ...input, deviceName, before })),
  )
  return orLogoutDevice(deps, proof, async () => {
    const { id, tenantId, chatDomain, expiresAt, hasInitialPassword, ...refreshToken } = session
    setTenant?.(tenantId)
    const issued = await issueToken(deps, { id, localpart: proof.localpart, tenantId, chatDomain, expiresAt })
    const homeserver = await publicHostOf(deps.db, proof.tenant)
    // An initial password opens no chat: other people know it.
    const hasChat = input.chat !== false && !hasInitialPassword
    if (!hasChat) await logoutDevice(deps, proof)
    const chat = { matrixAccessToken: hasChat ? proof.chat.accessToken.reveal() : '', matrixUserId: proof.chat.userId, homeserver }
    return { ...issued, ...chat, ...(hasInitialPassword ? { passwordChangeRequired: true as const } : {}), ...refreshToken }
  })
}

/** `before`: the user as it was before the password was checked. */
type SessionInput = Readonly<{ deviceName: string; issueRefreshToken: boolean; address: string; before: UserRecord | undefined }>

/**
 * Stores user, session, refresh token and the successful attempt. Returns `refused`, with nothing written, when user or tenant may not log in. A
 * login beyond the session limit ends the least recently used sessions.
 */
async function openSession(deps: WithTx<SessionsDeps>, { attempt, tenant, localpart }: Proof, input: SessionInput) {
  const { tx } = deps
  const { clock, random, rules } = deps
  if (!(await mayOpen(tx, tenant, localpart))) return refused
  const { user, made } = await ensureUser(deps, tx, { tenantId: tenant.id, localpart })
  const locked = await lockUserRow(tx, user.id)
  if (locked.status !== 'active') return refused
  if ((input.before?.passwordVersion ?? 0) !== Number(locked.password_version)) throw passwordChanged()
  const now = isoNow(clock)
  const tooMany = await sessionsBeyond(tx, { userId: user.id, now, max: rules.mostPerUser - 1 })
  const id = newId(random, 'ses')
  const expiresAt = sessionEnd(rules, now, input.issueRefreshToken)
  const session = { id, tenantId: tenant.id, userId: user.id, deviceName: input.deviceName, network: networkOf(input.address), expiresAt }
  await insertSession(tx, now, session)
  await recordSuccess(tx, clock, attempt)
  const refreshToken = input.issueRefreshToken ? await firstRefreshToken(tx, deps, { id, now, expiresAt }) : {}
  await endSessions({ tx, clock }, tooMany, 'too_many')
  if (made) await recordUserCreated(tx, clock, { tenant, user, sessionId: id })
  const hasInitialPassword = Number(locked.password_initial) === 1
  return { id, tenantId: tenant.id, chatDomain: tenant.chatDomain, expiresAt, hasInitialPassword, ...refreshToken }
}

/** False for a tenant that is deleted. The password is proven: an active user of a suspended tenant learns of it. Throws TENANT_SUSPENDED. */
async function mayOpen(tx: Tx, { id }: TenantRecord, localpart: string): Promise<boolean> {
  const tenant = await tenantById(tx, id)
  if (tenant?.status !== 'suspended') return tenant?.status === 'active'
  const user = await findUser(tx, { tenantId: id, localpart })
  if (user && user.status !== 'active') return false
  throw tenantSuspended(tenant)
}

/** A concurrent disable waits for this lock and then ends the new session too. A suspended tenant is checked at every request. */
const lockUserRow = (tx: Tx, userId: string) =>
  tx
    .selectFrom('users')
    .select(['status', 'password_version', 'password_initial'])
    .where('id', '=', userId)
    .modifyEnd(forNoKeyUpdate(tx))
    .executeTakeFirstOrThrow()

/** The password was changed after the chat server checked it, so sessions of the old one must not begin. */
const passwordChanged = () =>
  problem('UNAVAILABLE', 'The password was changed during the login. fix: log in again', { retryAfterSeconds: 1 })

type OpenedSession = Readonly<{ id: string; now: string; expiresAt: string }>

async function firstRefreshToken(tx: Tx, { random, rules }: SessionsDeps, { id, now, expiresAt }: OpenedSession) {
  const refreshToken = newRefreshToken(random)
  const made = { token: refreshToken, sessionId: id, sessionExpiresAt: expiresAt, parentHash: null, rules }
  return { refreshToken, refreshTokenExpiresAt: await insertRefreshToken(tx, now, made) }
}

type CreatedUser = Readonly<{ tenant: TenantRecord; user: UserRecord; sessionId: string }>

/** Logins are not audited, but the creation of a user is. */
async function recordUserCreated(tx: Tx, clock: Clock, { tenant, user, sessionId }: CreatedUser): Promise<void> {
  const { id: userId, localpart, roles } = user
  const actor = { kind: 'user', userId, matrixUserId: matrixUserIdOf(localpart, tenant.chatDomain), sessionId } as const
  const data = { userId, roles, chat: 'existed' }
  await recordAudit(tx, clock, { actor, action: 'user.created', subject: `${tenant.slug}/${localpart}`, data })
}
