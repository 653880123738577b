import { isProblem, type PlatformPrincipal, problem, secret } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import {
  acquirePasswordLease,
  assertFitPassword,
  findUserById,
  type PasswordLease,
  passwordBusy,
  readPasswordVersion,
  recordPasswordSet,
  recordUnderLease,
  releasePasswordLease,
  type UserRecord,
  writeUnderLease,
} from '../users/index.ts'
import type { SessionsDeps } from './deps.ts'
import { recordSuccess } from './login-attempts.ts'
import { logoutDevice, type Proof, provePassword, withConstantTimeRefusal } from './prove-password.ts'
import { validSession } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'log' | 'homeservers' | 'waiting' | 'refusals' | 'revocations' | 'draining'>
type Change = Readonly<{ currentPassword: string; newPassword: string; address: string; signal?: AbortSignal | undefined }>

/** The short-lived chat device that proves the current password. */
const deviceName = 'Password check'

/**
 * Sets a new password in the chat server. Sessions, devices and chat tokens stay valid (spec 5.5). Throws WRONG_PASSWORD for a wrong current
 * password, counted and delayed like a login; VALIDATION when the chat server rejects the new one; UNAVAILABLE after a concurrent change.
 */
export const changePassword = (deps: Deps, actor: PlatformPrincipal, change: Change): Promise<void> =>
  withConstantTimeRefusal(deps, () => proveAndChange(deps, actor, change)).catch((error) => {
    throw isProblem(error, 'LOGIN_FAILED') ? problem('WRONG_PASSWORD', 'The current password is wrong; nothing was changed.') : error
  })

async function proveAndChange(deps: Deps, actor: PlatformPrincipal, change: Change): Promise<void> {
  const { tenantSlug, userId } = actor
  const user = await findUserById(deps.db, userId)
  if (user) assertFit(user, change, tenantSlug)
  const version = await readPasswordVersion(deps, userId)
  if (user && version === undefined) throw await passwordBusy(deps, userId)
  const credentials = {
    tenant: await tenantBySlug(deps.db, tenantSlug),
    tenantEntered: tenantSlug,
    username: user?.localpart ?? '',
    password: change.currentPassword,
    deviceName,
    address: change.address,
    signal: change.signal,
  }
  const { proof, used } = await provePassword(deps, credentials, (proof) => acquireLease(deps, actor, { proof, version }))
  try {
    if (!used.isSessionValid) throw problem('UNAUTHENTICATED', 'The session has ended. fix: log in again')
    const { lease } = used
    if (!lease) throw await passwordBusy(deps, userId)
    await writeUnderLease(deps, lease, () => setPassword(deps, proof, change.newPassword))
    await recordUnderLease(deps, lease, () => recordChange(deps, actor, { proof, lease }))
    // The session may do everything from now on.
    if (user?.hasInitialPassword) await deps.revocations.readNow()
  } finally {
    await logoutDevice(deps, proof)
  }
}

/** Throws VALIDATION. An initial password is known to others, so it cannot stay. */
function assertFit(user: UserRecord, { currentPassword, newPassword }: Change, slug: string): void {
  assertFitPassword(newPassword, { ...user, slug }, 'newPassword')
  if (user.hasInitialPassword && newPassword === currentPassword)
    throw problem('VALIDATION', 'newPassword: must not be the initial password', {
      details: [{ path: 'newPassword', reason: 'must not be the initial password' }],
    })
}

type Proved = Readonly<{ proof: Proof; version: number | undefined }>

/**
 * Records the successful attempt and takes the password lease in one transaction. There is no lease for a caller whose session ended during the
 * check, and none if the password was written since `version`.
 */
const acquireLease = ({ db, clock }: Deps, actor: PlatformPrincipal, { proof, version }: Proved) =>
  db.transaction().execute(async (tx) => {
    const lease = await acquirePasswordLease({ db: tx, clock }, actor.userId, version)
    const isSessionValid = (await validSession(tx, clock, actor.sessionId)) !== undefined
    if (lease && !isSessionValid) await releasePasswordLease(tx, lease)
    await recordSuccess(tx, clock, proof.attempt)
    return { lease, isSessionValid }
  })

type Changed = Readonly<{ proof: Proof; lease: PasswordLease }>

const recordChange = ({ db, clock }: Deps, actor: PlatformPrincipal, { proof, lease }: Changed): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (!(await releasePasswordLease(tx, lease))) throw await passwordBusy({ db: tx, clock }, actor.userId)
    const hadInitial = (await findUserById(tx, actor.userId))?.hasInitialPassword
    await recordPasswordSet(tx, clock, { id: actor.userId, tenantId: proof.tenant.id })
    if (hadInitial) await publishRevocation(tx, clock, { kind: 'user', subject: actor.userId })
    await recordAudit(tx, clock, { actor, action: 'user.password-changed', subject: `${actor.tenantSlug}/${proof.localpart}` })
  })

async function setPassword({ homeservers }: Deps, { tenant, localpart }: Proof, newPassword: string): Promise<void> {
  const done = await homeservers.of(tenant.id).changePassword({ localpart, password: secret(newPassword) })
  if (done.kind === 'ok') return
  if ('retryAfterSeconds' in done) throw homeserverProblem(done, tenant.slug)
  const reason = done.kind === 'refused' ? done.reason : 'the chat server does not know this user'
  throw problem('VALIDATION', `newPassword: ${reason}`, { details: [{ path: 'newPassword', reason }] })
}
