import { type Contact, visibilityOf } from '../../core/contacts/index.ts'
import { noSuchPage } from '../../core/contract/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { contactsAfter, findContact, type Onlooker, placeOf } from './contacts.repo.ts'

export type ContactsDeps = Readonly<{ db: Db; roles: RoleBook }>
type Caller = Pick<PlatformPrincipal, 'tenantId' | 'userId' | 'capabilities'>

const onlookerOf = (roles: RoleBook, caller: Caller): Onlooker => ({
  tenantId: caller.tenantId,
  userId: caller.userId,
  sight: visibilityOf(roles, caller),
})

type Page = Readonly<{ search?: string | undefined; cursor?: string | undefined; limit: number }>

/** A page of whom the caller may see, by name. Throws VALIDATION for a cursor that names nobody whom the caller sees now. */
export async function listContacts({ db, roles }: ContactsDeps, caller: Caller, { search, cursor, limit }: Page) {
  const onlooker = onlookerOf(roles, caller)
  const after = cursor === undefined ? undefined : await placeOf(db, onlooker, cursor)
  if (cursor !== undefined && !after) throw noSuchPage()
  const found = await contactsAfter(db, onlooker, { search, after, limit: limit + 1 })
  const contacts = found.slice(0, limit)
  return { contacts, nextCursor: found.length > limit ? (contacts.at(-1)?.userId ?? null) : null }
}

/** Throws NOT_FOUND, the same whether there is no such user or the caller may not see it. */
export async function showContact({ db, roles }: ContactsDeps, caller: Caller, { userId }: Readonly<{ userId: string }>): Promise<Contact> {
  const contact = await findContact(db, onlookerOf(roles, caller), userId)
  if (!contact) throw problem('NOT_FOUND', `there is no user ${userId} that you may see`)
  return contact
}

/** Whether a user is among the contacts of the caller. */
export const maySee = async (db: DbOrTx, roles: RoleBook, caller: Caller, userId: string): Promise<boolean> =>
  (await findContact(db, onlookerOf(roles, caller), userId)) !== undefined
