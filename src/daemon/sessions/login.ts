import { type Clock, isoNow, newId, problem } from '../../core/kit/index.ts'
import { deviceNameOf, networkOf, sessionEnd } from '../../core/sessions/index.ts'
import { canonicalLocalpart, matrixUserIdOf } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { forNoKeyUpdate, type Tx } from '../db/index.ts'
import { ensureUser, findUser, type UserRecord } from '../users/index.ts'
import type { SessionsDeps } from './deps.ts'
import { homeOf, tenantOf } from './find-tenant.ts'
import { holdingBack } from './hold-back.ts'
import { issueToken } from './issue-token.ts'
import { orRelease, recordSuccess } from './login-attempts.ts'
import { endProof, type Proved, provePassword, refusedLogin } from './prove-password.ts'
import { endSessions } from './revocations.ts'
import { insertRefreshToken, insertSession, newRefreshToken, sessionsBeyond } from './sessions.repo.ts'

type Login = Readonly<{
  tenant: string
  username: string
  password: string
  deviceName?: string | undefined
  issueRefreshToken: boolean
  address: string
  signal?: AbortSignal | undefined
  /** Told whose login it was, once it is one. */
  tellTenant?: (tenantId: string) => void
}>

type LoggedIn = Readonly<{
  token: string
  expiresIn: number
  matrixAccessToken: string
  matrixUserId: string
  homeserver: string
  refreshToken?: string
  refreshTokenExpiresAt?: string
}>

/** One login for platform and chat (spec 2.2, 2.3). All refusals are alike, in their answer and in their time. */
export const login = (deps: SessionsDeps, given: Login): Promise<LoggedIn> => holdingBack(deps.clock, () => logIn(deps, given))

async function logIn(deps: SessionsDeps, { tenant: given, deviceName: named, tellTenant, ...login }: Login): Promise<LoggedIn> {
  const deviceName = deviceNameOf(named)
  const tenant = await tenantOf(deps.db, given)
  const before = tenant && (await findUser(deps.db, { tenantId: tenant.id, localpart: canonicalLocalpart(login.username) }))
  const proved = await provePassword(deps, { ...login, tenant, given, deviceName })
  try {
    const { id, tenantId, chatDomain, expiresAt, ...refreshToken } = await opening(deps, proved, { deviceName, before, ...login })
    tellTenant?.(tenantId)
    const issued = await issueToken(deps, { id, localpart: proved.localpart, tenantId, chatDomain, expiresAt })
    const homeserver = await homeOf(deps.db, proved.tenant)
    return { ...issued, matrixAccessToken: proved.chat.accessToken.reveal(), matrixUserId: proved.chat.userId, homeserver, ...refreshToken }
  } catch (error) {
    await endProof(deps, proved)
    throw error
  }
}

/** `before`: as the registry had the user before the password was looked at. */
type Wanted = Readonly<{ deviceName: string; issueRefreshToken: boolean; address: string; before: UserRecord | undefined }>

/** Opens the session. A database that fails says nothing of the password: the attempt is then no failure. */
async function opening(deps: SessionsDeps, proved: Proved, wanted: Wanted) {
  const opened = await orRelease(deps, proved.attempt, () => deps.db.transaction().execute((tx) => openSession(tx, deps, proved, wanted)))
  if (!opened) throw await refusedLogin(deps, proved.attempt)
  return opened
}

/**
 * User, session, refresh token and counters together; undefined when user or tenant may not log in, with nothing written. A login beyond what a
 * user may have open ends the sessions that were unused for longest.
 */
async function openSession(tx: Tx, deps: SessionsDeps, { attempt, tenant, localpart }: Proved, wanted: Wanted) {
  const { clock, random, rules } = deps
  if (!(await isActive(tx, tenant.id))) return undefined
  const { user, made } = await ensureUser(deps, tx, { tenantId: tenant.id, localpart })
  const held = await holdUser(tx, user.id)
  if (held.status !== 'active') return undefined
  if ((wanted.before?.passwordVersion ?? 0) !== Number(held.password_turn)) throw changedMeanwhile()
  const now = isoNow(clock)
  const tooMany = await sessionsBeyond(tx, { userId: user.id, now, most: rules.mostPerUser - 1 })
  const id = newId(random, 'ses')
  const expiresAt = sessionEnd(rules, now, wanted.issueRefreshToken)
  const session = { id, tenantId: tenant.id, userId: user.id, deviceName: wanted.deviceName, network: networkOf(wanted.address), expiresAt }
  await insertSession(tx, now, session)
  await recordSuccess(tx, clock, attempt)
  const refreshing = wanted.issueRefreshToken ? await firstRefreshToken(tx, deps, { id, now, expiresAt }) : {}
  await endSessions(tx, clock, tooMany, 'too_many')
  if (made) await recordMade(tx, clock, { tenant, user, sessionId: id })
  return { id, tenantId: tenant.id, chatDomain: tenant.chatDomain, expiresAt, ...refreshing }
}

type Opened = Readonly<{ id: string; now: string; expiresAt: string }>

async function firstRefreshToken(tx: Tx, { random, rules }: SessionsDeps, { id, now, expiresAt }: Opened) {
  const refreshToken = newRefreshToken(random)
  const made = { token: refreshToken, sessionId: id, sessionExpiresAt: expiresAt, parentHash: null, rules }
  return { refreshToken, refreshTokenExpiresAt: await insertRefreshToken(tx, now, made) }
}

type Made = Readonly<{ tenant: Proved['tenant']; user: UserRecord; sessionId: string }>

/** Logins are not in the audit log, but that somebody got an account is, whoever made it. */
async function recordMade(tx: Tx, clock: Clock, { tenant, user, sessionId }: Made): Promise<void> {
  const { id: userId, localpart, roles } = user
  const actor = { kind: 'user', userId, matrixUserId: matrixUserIdOf(localpart, tenant.chatDomain), sessionId } as const
  const data = { userId, roles, chat: 'existed' }
  await recordAudit(tx, clock, { actor, action: 'user.created', subject: `${tenant.slug}/${localpart}`, data })
}

/**
 * The user is held until the session stands: whoever disables it in this moment waits, and then ends this session too. A tenant that is suspended
 * in this moment is asked for at every call.
 */
const holdUser = (tx: Tx, userId: string) =>
  tx
    .selectFrom('users')
    .select(['status', 'password_turn'])
    .where('id', '=', userId)
    .modifyEnd(forNoKeyUpdate(tx))
    .executeTakeFirstOrThrow()

/** Somebody wrote another password since the chat server looked at this one, and all who had the old one are to be out. */
const changedMeanwhile = () => problem('UNAVAILABLE', 'the password was set anew in this moment: log in again', { retryAfterSeconds: 1 })

async function isActive(tx: Tx, tenantId: string): Promise<boolean> {
  const tenant = await tx.selectFrom('tenants').select('status').where('id', '=', tenantId).executeTakeFirst()
  return tenant?.status === 'active'
}
