import { contactAudience } from '../../core/contacts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import type { Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { spacesWith } from './contacts.repo.ts'

type Deps = Readonly<{ clock: Clock; roles: RoleBook }>
type Changed = Readonly<{
  type: 'user.created' | 'user.enabled' | 'user.disabled' | 'user.roles_changed' | 'user.contact_changed'
  user: Readonly<{ id: string; tenantId: string }>
  /** Those it has, and those it had. */
  roles: readonly string[]
}>

/** Stores what changed of a user that its contacts see; who sees it hears of it, and nobody else. Called as late as any event. */
export async function tellContacts(tx: Tx, { clock, roles: book }: Deps, { type, user, roles }: Changed): Promise<void> {
  const { id: userId, tenantId } = user
  const audience = contactAudience(book, { userId, roles, spaces: await spacesWith(tx, userId) })
  await recordEvent(tx, clock, { tenantId, type, payload: { userId }, audience })
}
