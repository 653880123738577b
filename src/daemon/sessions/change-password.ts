import { type PlatformPrincipal, problem, secret } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import {
  acquirePasswordLease,
  findUserById,
  type PasswordLease,
  passwordBusy,
  readPasswordVersion,
  recordPasswordSet,
  recordUnderLease,
  releasePasswordLease,
  writeUnderLease,
} from '../users/index.ts'
import type { SessionsDeps } from './deps.ts'
import { holdingBack } from './hold-back.ts'
import { orRelease, recordSuccess } from './login-attempts.ts'
import { endProof, type Proved, provePassword } from './prove-password.ts'
import { standingSession } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'log' | 'homeservers' | 'waiting' | 'draining'>
type Change = Readonly<{ currentPassword: string; newPassword: string; address: string; signal?: AbortSignal | undefined }>

/** What the chat calls the device that proves the current password and is gone a moment later. */
const deviceName = 'Password check'

/**
 * Sets a new password in the chat server. Open sessions, devices and chat tokens stay (spec 5.5). Throws LOGIN_FAILED for a wrong current one,
 * counted and timed like a login; VALIDATION when the chat server does not take the new one; UNAVAILABLE when another was set meanwhile.
 */
export const changePassword = (deps: Deps, actor: PlatformPrincipal, change: Change): Promise<void> =>
  holdingBack(deps.clock, async () => {
    const { tenantSlug, userId } = actor
    const user = await findUserById(deps.db, userId)
    const before = await readPasswordVersion(deps, userId)
    if (user && before === undefined) throw await passwordBusy(deps, userId)
    const proof = {
      given: tenantSlug,
      username: user?.localpart ?? '',
      password: change.currentPassword,
      deviceName,
      address: change.address,
      signal: change.signal,
    }
    const proved = await provePassword(deps, { ...proof, tenant: await tenantBySlug(deps.db, tenantSlug) })
    try {
      const turn = await turnAfter(deps, actor, { proved, before })
      await writeUnderLease(deps, turn, () => setPassword(deps, proved, change.newPassword))
      await recordUnderLease(deps, turn, () => recordChanged(deps, actor, { proved, turn }))
    } finally {
      await endProof(deps, proved)
    }
  })

type Before = Readonly<{ proved: Proved; before: number | undefined }>

/**
 * The password was right, which clears the failures. Whether it may still be changed is decided in the same moment, by the user's row: whoever lost
 * the session or was disabled while the chat server took its time changes nothing more, nor does a proof of a password that was written over.
 */
async function turnAfter(deps: Deps, actor: PlatformPrincipal, { proved, before }: Before): Promise<PasswordLease> {
  const { db, clock } = deps
  const meant = await orRelease(deps, proved.attempt, () =>
    db.transaction().execute(async (tx) => {
      const turn = await acquirePasswordLease({ db: tx, clock }, actor.userId, before)
      const stands = (await standingSession(tx, clock, actor.sessionId)) !== undefined
      if (turn && !stands) await releasePasswordLease(tx, turn)
      await recordSuccess(tx, clock, proved.attempt)
      return { turn, stands }
    }),
  )
  if (!meant.stands) throw problem('UNAUTHENTICATED', 'the session has ended: log in again')
  if (!meant.turn) throw await passwordBusy(deps, actor.userId)
  return meant.turn
}

type Changed = Readonly<{ proved: Proved; turn: PasswordLease }>

const recordChanged = ({ db, clock }: Deps, actor: PlatformPrincipal, { proved, turn }: Changed): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (!(await releasePasswordLease(tx, turn))) throw await passwordBusy({ db: tx, clock }, actor.userId)
    await recordPasswordSet(tx, clock, { id: actor.userId, tenantId: proved.tenant.id })
    await recordAudit(tx, clock, { actor, action: 'user.password-changed', subject: `${actor.tenantSlug}/${proved.localpart}` })
  })

async function setPassword({ homeservers }: Deps, { tenant, localpart }: Proved, newPassword: string): Promise<void> {
  const done = await homeservers.of(tenant.id).changePassword({ localpart, password: secret(newPassword) })
  if (done.kind === 'ok') return
  if ('retryAfterSeconds' in done) throw homeserverProblem(done, tenant.slug)
  const reason = done.kind === 'refused' ? done.reason : 'the chat server does not know this user'
  throw problem('VALIDATION', `newPassword: ${reason}`, { details: [{ path: 'newPassword', reason }] })
}
