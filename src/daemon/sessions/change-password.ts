import { problem, secret } from '../../core/kit/index.ts'
import type { PlatformPrincipal } from '../../core/sessions/index.ts'
import { recordAudit } from '../audit/index.ts'
import { homeserverProblem } from '../homeserver/index.ts'
import { tenantBySlug } from '../tenants/index.ts'
import {
  endPasswordTurn,
  findUserById,
  notePasswordSet,
  noting,
  type PasswordTurn,
  passwordBeingSet,
  passwordTurnBefore,
  takePasswordTurn,
  writing,
} from '../users/index.ts'
import { holdingBack } from './hold-back.ts'
import { noteSuccess, orRelease } from './login-attempts.ts'
import type { SessionsNeeds } from './needs.ts'
import { endProof, type Proved, provePassword } from './prove-password.ts'
import { standingSession } from './sessions.repo.ts'

type Needs = Pick<SessionsNeeds, 'db' | 'clock' | 'log' | 'homeservers' | 'waiting' | 'draining'>
type Change = Readonly<{ currentPassword: string; newPassword: string; address: string; signal?: AbortSignal | undefined }>

/** What the chat calls the device that proves the current password and is gone a moment later. */
const deviceName = 'Password check'

/**
 * Sets a new password in the chat server. Open sessions, devices and chat tokens stay (spec 5.5). Throws LOGIN_FAILED for a wrong current one,
 * counted and timed like a login; VALIDATION when the chat server does not take the new one; UNAVAILABLE when another was set meanwhile.
 */
export const changePassword = (needs: Needs, actor: PlatformPrincipal, change: Change): Promise<void> =>
  holdingBack(needs.clock, async () => {
    const { tenantSlug, userId } = actor
    const user = await findUserById(needs.db, userId)
    const before = await passwordTurnBefore(needs, userId)
    if (user && before === undefined) throw await passwordBeingSet(needs, userId)
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
      const turn = await turnAfter(needs, actor, { proved, before })
      await writing(needs, turn, () => setPassword(needs, proved, change.newPassword))
      await noting(needs, turn, () => noteChanged(needs, actor, { proved, turn }))
    } finally {
      await endProof(needs, proved)
    }
  })

type Before = Readonly<{ proved: Proved; before: number | undefined }>

/**
 * The password was right, which clears the failures. Whether it may still be changed is decided in the same moment, by the user's row: whoever lost
 * the session or was disabled while the chat server took its time changes nothing more, nor does a proof of a password that was written over.
 */
async function turnAfter(needs: Needs, actor: PlatformPrincipal, { proved, before }: Before): Promise<PasswordTurn> {
  const { db, clock } = needs
  const meant = await orRelease(needs, proved.attempt, () =>
    db.transaction().execute(async (tx) => {
      const turn = await takePasswordTurn({ db: tx, clock }, actor.userId, before)
      const stands = (await standingSession(tx, clock, actor.sessionId)) !== undefined
      if (turn && !stands) await endPasswordTurn(tx, turn)
      await noteSuccess(tx, clock, proved.attempt)
      return { turn, stands }
    }),
  )
  if (!meant.stands) throw problem('UNAUTHENTICATED', 'the session has ended: log in again')
  if (!meant.turn) throw await passwordBeingSet(needs, actor.userId)
  return meant.turn
}

type Changed = Readonly<{ proved: Proved; turn: PasswordTurn }>

const noteChanged = ({ db, clock }: Needs, actor: PlatformPrincipal, { proved, turn }: Changed): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (!(await endPasswordTurn(tx, turn))) throw await passwordBeingSet({ db: tx, clock }, actor.userId)
    await notePasswordSet(tx, clock, { id: actor.userId, tenantId: proved.tenant.id })
    await recordAudit(tx, clock, { actor, action: 'user.password-changed', subject: `${actor.tenantSlug}/${proved.localpart}` })
  })

async function setPassword({ homeservers }: Needs, { tenant, localpart }: Proved, newPassword: string): Promise<void> {
  const done = await homeservers.of(tenant.id).changePassword({ localpart, password: secret(newPassword) })
  if (done.kind === 'ok') return
  if ('retryAfterSeconds' in done) throw homeserverProblem(done, tenant.slug)
  const reason = done.kind === 'refused' ? done.reason : 'the chat server does not know this user'
  throw problem('VALIDATION', `newPassword: ${reason}`, { details: [{ path: 'newPassword', reason }] })
}
