import { problem, secret } from '../../core/kit/index.ts'
import type { PlatformPrincipal } from '../../core/sessions/index.ts'
import { recordAudit } from '../audit/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import { findUserById, notePasswordSet } from '../users/index.ts'
import { holdingBack } from './hold-back.ts'
import { noteSuccess, releaseAttempt } from './login-attempts.ts'
import type { SessionsNeeds } from './needs.ts'
import { type Proved, provePassword } from './prove-password.ts'
import { standingSession } from './sessions.repo.ts'

type Needs = Pick<SessionsNeeds, 'db' | 'clock' | 'log' | 'homeservers' | 'waiting'>
type Change = Readonly<{ currentPassword: string; newPassword: string; address: string; signal?: AbortSignal | undefined }>

/** What the chat calls the device that proves the current password and is gone a moment later. */
const deviceName = 'Password check'

/**
 * Sets a new password in the chat server. Open sessions, devices and chat tokens stay (spec 5.5). Throws LOGIN_FAILED for a wrong current one,
 * counted and timed like a login; VALIDATION when the chat server does not take the new one.
 */
export const changePassword = (needs: Needs, actor: PlatformPrincipal, change: Change): Promise<void> =>
  holdingBack(needs.clock, async () => {
    const { tenantSlug } = actor
    const user = await findUserById(needs.db, actor.userId)
    const proof = {
      given: tenantSlug,
      username: user?.localpart ?? '',
      password: change.currentPassword,
      deviceName,
      address: change.address,
      signal: change.signal,
    }
    const proved = await provePassword(needs, { ...proof, tenant: await tenantBySlug(needs.db, tenantSlug) })
    try {
      await needs.db
        .transaction()
        .execute((tx) => noteSuccess(tx, needs.clock, proved.attempt))
        .catch(async (error) => {
          await releaseAttempt(needs, proved.attempt)
          throw error
        })
      await refuseEnded(needs, actor)
      await setPassword(needs, proved, change.newPassword)
    } finally {
      await needs.homeservers.of(proved.tenant.id).logout(proved.chat.accessToken)
    }
    await needs.db.transaction().execute(async (tx) => {
      await notePasswordSet(tx, needs.clock, { id: actor.userId, tenantId: proved.tenant.id })
      await recordAudit(tx, needs.clock, { actor, action: 'user.password-changed', subject: `${tenantSlug}/${proved.localpart}` })
    })
  })

/** The chat server took its time: whoever lost the session meanwhile changes nothing more. */
async function refuseEnded({ db, clock }: Needs, { sessionId }: PlatformPrincipal): Promise<void> {
  if (!(await standingSession(db, clock, sessionId))) throw problem('UNAUTHENTICATED', 'the session has ended: log in again')
}

async function setPassword({ homeservers }: Needs, { tenant, localpart }: Proved, newPassword: string): Promise<void> {
  const done = await homeservers.of(tenant.id).changePassword({ localpart, password: secret(newPassword) })
  if (done.kind === 'ok') return
  if ('retryAfterSeconds' in done) throw homeserverProblem(done, tenant.slug)
  const reason = done.kind === 'refused' ? done.reason : 'the chat server does not know this user'
  throw problem('VALIDATION', `newPassword: ${reason}`, { details: [{ path: 'newPassword', reason }] })
}
