import type { Audience } from '../events/index.ts'
import type { Capability } from '../kit/index.ts'
import { listedRoles, type RoleBook } from '../users/index.ts'

/** Whom a caller sees beside itself and whoever shares a space with it: everybody, or whoever has one of these roles. */
export type Sight = 'everybody' | Readonly<{ roles: readonly string[] }>

export const sightOf = (book: RoleBook, { capabilities }: Readonly<{ capabilities: readonly Capability[] }>): Sight =>
  capabilities.includes('readContacts') ? 'everybody' : { roles: listedRoles(book) }

type Seen = Readonly<{ userId: string; roles: readonly string[]; spaces: readonly string[] }>

/**
 * Who hears that something of a user changed that its contacts see: exactly those who see it, and itself. `roles` are those it has and, when
 * they change, those it had: whoever loses sight of somebody is to hear of it too.
 */
export function contactAudience(book: RoleBook, { userId, roles, spaces }: Seen): Audience {
  const listed = new Set(listedRoles(book))
  if (roles.some((role) => listed.has(role))) return 'tenant'
  return { users: [userId], capability: 'readContacts', ...(spaces.length > 0 ? { spaces: [...spaces] } : {}) }
}
