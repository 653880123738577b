import type { Audience } from '../events/index.ts'
import type { Capability } from '../kit/index.ts'
import { listedRoles, type RoleBook } from '../users/index.ts'

/** The users that a caller sees besides itself and the members of its spaces: everyone, or users with one of these roles. */
export type Visibility = 'everyone' | Readonly<{ roles: readonly string[] }>

export const visibilityOf = (book: RoleBook, { capabilities }: Readonly<{ capabilities: readonly Capability[] }>): Visibility =>
  capabilities.includes('readContacts') ? 'everyone' : { roles: listedRoles(book) }

type ChangedContact = Readonly<{ userId: string; roles: readonly string[]; spaces: readonly string[] }>

/**
 * The audience of a change to a contact: the users who see the contact, and the contact itself. `roles`: current roles and, when roles change,
 * the former ones, so that users who lose sight of the contact get the event too.
 */
export function contactAudience(book: RoleBook, { userId, roles, spaces }: ChangedContact): Audience {
  const listed = new Set(listedRoles(book))
  if (roles.some((role) => listed.has(role))) return 'tenant'
  return { users: [userId], capability: 'readContacts', ...(spaces.length > 0 ? { spaces: [...spaces] } : {}) }
}
