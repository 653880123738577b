import { type Contact, contactAudience, visibilityOf } from '../../core/contacts/index.ts'
import { noSuchPage, pageOf } from '../../core/contract/index.ts'
import { type Clock, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { contactsAfter, findContact, positionOf, spacesOfUser, type Viewer } from './contacts.repo.ts'

export type ContactsDeps = Readonly<{ db: Db; roles: RoleBook }>
type Caller = Pick<PlatformPrincipal, 'tenantId' | 'userId' | 'capabilities'>

const viewerOf = (roles: RoleBook, caller: Caller): Viewer => ({
  tenantId: caller.tenantId,
  userId: caller.userId,
  visibility: visibilityOf(roles, caller),
})

type Page = Readonly<{ search?: string | undefined; cursor?: string | undefined; limit: number }>

/** A page of the users that the caller may see, by name. Throws VALIDATION for a cursor of a user that the caller does not see now. */
export async function listContacts({ db, roles }: ContactsDeps, caller: Caller, { search, cursor, limit }: Page) {
  const viewer = viewerOf(roles, caller)
  const after = cursor === undefined ? undefined : await positionOf(db, viewer, cursor)
  if (cursor !== undefined && !after) throw noSuchPage()
  const found = await contactsAfter(db, viewer, { search, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ userId }) => userId)
  return { contacts: page, nextCursor }
}

/** Throws NOT_FOUND for both missing and invisible users. */
export async function showContact({ db, roles }: ContactsDeps, caller: Caller, { userId }: Readonly<{ userId: string }>): Promise<Contact> {
  const contact = await findContact(db, viewerOf(roles, caller), userId)
  if (!contact) throw problem('NOT_FOUND', `User ${userId} does not exist, or you may not see it`)
  return contact
}

/** True if a user is a contact of the caller. */
export const isContact = async (
  { db, roles }: Readonly<{ db: DbOrTx; roles: RoleBook }>,
  caller: Caller,
  userId: string,
): Promise<boolean> => (await findContact(db, viewerOf(roles, caller), userId)) !== undefined

type EventDeps = Readonly<{ clock: Clock; roles: RoleBook }>
type ContactEvent = Readonly<{
  type: 'user.created' | 'user.enabled' | 'user.disabled' | 'user.erased' | 'user.roles_changed' | 'user.contact_changed'
  user: Readonly<{ id: string; tenantId: string }>
  /** The current roles, and the former ones if they changed. */
  roles: readonly string[]
}>

/** Records an event for exactly the users who see the changed contact. Call it late in the transaction, like any event. */
export async function publishContactEvent(tx: Tx, { clock, roles: book }: EventDeps, { type, user, roles }: ContactEvent): Promise<void> {
  const { id: userId, tenantId } = user
  const audience = contactAudience(book, { userId, roles, spaces: await spacesOfUser(tx, userId) })
  await recordEvent(tx, clock, { tenantId, type, payload: { userId }, audience })
}
