import { z } from 'zod'
import type { SystemActor } from '../../core/kit/index.ts'
import { networkOf } from '../../core/sessions/index.ts'
import { canonicalLocalpart } from '../../core/users/index.ts'
import { enqueueJob, type JobHandler } from '../db/index.ts'
import { tenantByName } from '../tenants/index.ts'
import { findUser, resetPassword } from '../users/index.ts'
import type { PeopleDeps } from './deps.ts'
import { noMail } from './invite.ts'
import { addLink, linkOfToken, useLink, validLink } from './password-links.ts'

/** The topic of the job that looks for a user who forgot its password. */
export const forgottenTopic = 'people.forgotten-password'

const Payload = z.object({ tenant: z.string(), username: z.string(), network: z.string() })

type Forgotten = Readonly<{ tenant: string; username: string; address: string }>

/**
 * Enqueues the search for the user. Nothing is read before the answer, so neither its words nor its time show whether tenant and user exist. Throws
 * CONFIG where no mail is set up.
 */
export async function forgotPassword({ db, clock, mailer }: PeopleDeps, { tenant, username, address }: Forgotten): Promise<undefined> {
  if (!mailer) throw noMail('ask the administration of your organisation for a new password')
  const payload = { tenant, username, network: networkOf(address) }
  await db.transaction().execute((tx) => enqueueJob(tx, clock, { topic: forgottenTopic, payload }))
  return undefined
}

/** Mails the user a link, if it exists, may log in and has an address, and no bound is reached. */
export const findForgotten =
  (deps: Pick<PeopleDeps, 'db' | 'clock' | 'random'>): JobHandler =>
  async (payload) => {
    const { tenant: entered, username, network } = Payload.parse(payload)
    const tenant = await tenantByName(deps.db, entered)
    if (tenant?.status !== 'active') return
    const user = await findUser(deps.db, { tenantId: tenant.id, localpart: canonicalLocalpart(username) })
    if (user?.status !== 'active') return
    await deps.db.transaction().execute((tx) => addLink(deps, tx, { user, kind: 'reset', network }))
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
