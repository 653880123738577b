import { type Fault, isFault } from '../../core/homeserver/index.ts'
import { type Actor, isoNow, secret } from '../../core/kit/index.ts'
import { newPassword } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { AlignDeps } from './align-chat.ts'
import { alignUser, lockSide } from './align-chat.ts'
import type { UsersDeps } from './deps.ts'
import { passwordBeingSet } from './password-turn.ts'
import { tellUnsaid } from './tell-unsaid.ts'
import { recordPasswordUnknown, type UserRecord } from './users.repo.ts'

export type RemakeDeps = AlignDeps & Pick<UsersDeps, 'random'>

const actor: Actor = { kind: 'system', name: 'restore' }

/**
 * Makes the chat account of a user again, with a password that nobody ever sees. That nobody knows it is noted first: whatever breaks off
 * afterwards, the operator sees who needs a new one. Throws UNAVAILABLE when somebody gave it one in this moment.
 */
export async function remakeInChat(deps: RemakeDeps, user: UserRecord): Promise<Fault | undefined> {
  const { homeservers, random } = deps
  const { id, tenantId, localpart, displayName } = user
  await recordUnknown(deps, user)
  const made = await homeservers.of(tenantId).createUser({ localpart, password: secret(newPassword(random)), displayName })
  if (isFault(made)) return made
  if (made.kind === 'refused') {
    await tellUnsaid(deps, id, { what: 'account', reason: made.reason })
    return undefined
  }
  const locked = await alignUser(deps, id, lockSide)
  if (locked.kind === 'refused') await tellUnsaid(deps, id, { what: 'lock', reason: locked.reason })
  return isFault(locked) ? locked : undefined
}

/** Whom somebody gave a password since the chat server was found without the account, is not to be told as one without. */
async function recordUnknown({ db, clock }: RemakeDeps, user: UserRecord): Promise<void> {
  const { id, tenantId, localpart, passwordUnknownSince, passwordTurn } = user
  if (passwordUnknownSince !== null) return
  await db.transaction().execute(async (tx) => {
    if (!(await recordPasswordUnknown(tx, { id, passwordTurn }, isoNow(clock)))) throw await passwordBeingSet({ db: tx, clock }, id)
    const { slug } = await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()
    await recordAudit(tx, clock, { actor, action: 'user.remade', subject: `${slug}/${localpart}`, data: { userId: id } })
  })
}
