import { problem } from '../../core/kit/index.ts'
import { roleKey } from '../../core/tasks/index.ts'
import { type RoleBook, roleOfAlias, unknownRoles } from '../../core/users/index.ts'
import type { Tx } from '../db/index.ts'
import { findUserById } from '../users/index.ts'

/** Throws VALIDATION unless the user is an active user of the tenant. */
export async function assertAssignee(tx: Tx, tenantId: string, assigneeId: string): Promise<void> {
  const user = await findUserById(tx, assigneeId)
  if (user?.tenantId !== tenantId || user.status !== 'active')
    throw invalidField('assigneeId', 'must be the id of an active user of your tenant')
}

/** Times are compared as text, so they are stored in one form. */
export const inUtc = (time: string | null): string | null => time && new Date(time).toISOString()

/** As `roleNamed`. Throws VALIDATION for a role that does not exist: no user could do its task. */
export function existingRole(book: RoleBook, name: string): string {
  const role = roleNamed(book, name)
  if (unknownRoles(book, [roleKey(role)]).length === 0) return role
  const reason = `the role ${role} does not exist. fix: use one of ${Object.keys(book.roles).join(', ')}`
  throw problem('VALIDATION', `assignedRole: ${reason}`, { details: [{ path: 'assignedRole', reason }] })
}

export const invalidField = (path: string, reason: string) => problem('VALIDATION', `${path}: ${reason}`, { details: [{ path, reason }] })

/** The name as it was sent, or the role that has it as an alias. */
export const roleNamed = (book: RoleBook, name: string): string => roleOfAlias(book, roleKey(name)) ?? name
