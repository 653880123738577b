import type { SystemActor } from '../../core/kit/index.ts'
import { delayRefusal, networkOf } from '../../core/sessions/index.ts'
import { canonicalLocalpart } from '../../core/users/index.ts'
import { tenantByName } from '../tenants/index.ts'
import { findUser, resetPassword } from '../users/index.ts'
import type { PeopleDeps } from './deps.ts'
import { noMail } from './invite.ts'
import { addLink, linkOfToken, useLink, validLink } from './password-links.ts'

type Forgotten = Readonly<{ tenant: string; username: string; address: string }>

/**
 * Mails the user a link, if it exists, may log in and has an address, and no bound is reached. The caller learns none of that: the answer is the
 * same, a second after the request. Throws CONFIG where no mail is set up.
 */
export async function forgotPassword(deps: PeopleDeps, input: Forgotten): Promise<undefined> {
  if (!deps.mailer) throw noMail('ask the administration of your organisation for a new password')
  const arrivedMs = deps.clock.monotonicMs()
  try {
    await sendLink(deps, input)
  } finally {
    const nowMs = deps.clock.monotonicMs()
    await deps.clock.sleep(delayRefusal(nowMs - arrivedMs, nowMs).delayMs)
  }
  return undefined
}

async function sendLink(deps: PeopleDeps, { tenant: entered, username, address }: Forgotten): Promise<void> {
  const tenant = await tenantByName(deps.db, entered)
  if (tenant?.status !== 'active') return
  const user = await findUser(deps.db, { tenantId: tenant.id, localpart: canonicalLocalpart(username) })
  if (user?.status !== 'active') return
  await deps.db.transaction().execute((tx) => addLink(deps, tx, { user, kind: 'reset', network: networkOf(address) }))
}

/** The user is not logged in: the link alone is the proof. */
const actor: SystemActor = { kind: 'system', name: 'password-link' }

type Used = Readonly<{ token: string; newPassword: string; logOutDevices: boolean }>

/**
 * Sets the password by a link, ends all sessions, and spends the link with the recorded password: of two uses one finds it used, and a chat server that
 * is away costs no link. Throws LINK_INVALID, VALIDATION, HOMESERVER_UNREACHABLE.
 */
export async function resetByLink(deps: PeopleDeps, { token, newPassword, logOutDevices }: Used): Promise<undefined> {
  const link = await linkOfToken(deps, token)
  const check = async () => {
    await validLink(deps, link.id)
  }
  const onSet = async (tx: Parameters<typeof useLink>[0]) => useLink(tx, deps.clock, link)
  const one = { slug: link.tenant.slug, localpart: link.user.localpart }
  await resetPassword(deps, actor, { ...one, password: newPassword, logOutDevices, check, onSet })
  return undefined
}
