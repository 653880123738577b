import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { DelegatedRules } from '../users/index.ts'
import { delegatedRules } from './delegated-rules.ts'
import type { PeopleDeps } from './deps.ts'
import { addLink } from './password-links.ts'
import { existingPerson } from './show-people.ts'

/** An invitation is made by somebody who is logged in, so its network is not counted. */
const network = ''

/** Invites new users by mail; undefined where no mail is set up. */
export const inviterOf = (deps: PeopleDeps): DelegatedRules['invite'] =>
  deps.mailer && ((tx, user) => addLink(deps, tx, { user, kind: 'invitation', network }))

/** Mails a user a link for its first password, or for a new one. Throws CONFIG, CONFLICT without an address, RATE_LIMITED, FORBIDDEN. */
export async function invitePerson(deps: PeopleDeps, actor: PlatformPrincipal, { userId }: Readonly<{ userId: string }>) {
  const rules = delegatedRules(deps.roles, actor)
  return deps.db.transaction().execute(async (tx) => {
    const { tenant, user } = await existingPerson(tx, actor, { userId })
    if (!deps.mailer) throw noMail('reset the password instead')
    if (user.status !== 'active') throw problem('CONFLICT', `User ${user.localpart} is ${user.status}. fix: enable it first`)
    if (user.email === null) throw problem('CONFLICT', `User ${user.localpart} has no mail address. fix: set one, or reset the password`)
    await rules.assertMayChange(tx, user, {})
    const invitedUntil = await addLink(deps, tx, { user, kind: 'invitation', network })
    if (invitedUntil === null)
      throw problem('RATE_LIMITED', 'Too many invitations today. fix: try again tomorrow, or reset the password', {
        retryAfterSeconds: 3600,
      })
    const data = { userId, invitedUntil }
    await recordAudit(tx, deps.clock, { actor, action: 'user.invited', subject: `${tenant.slug}/${user.localpart}`, data })
    return { invitedUntil }
  })
}

/** `instead`: what works without mail. */
export const noMail = (instead: string) => problem('CONFIG', `This platform sends no mail. fix: ${instead}`, { retryable: false })
