import { z } from 'zod'
import { fieldReasons } from '../contract/index.ts'
import { problem } from '../kit/index.ts'
import { Capability } from './capability.ts'

/** A role of a tenant's users: `teacher`, `school-admin`. */
export const RoleName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,38}[a-z0-9]$/, 'must be 2 to 40 lower-case letters, digits and hyphens, starting with a letter')

const once = (capabilities: readonly Capability[]) => new Set(capabilities).size === capabilities.length

const Role = z.strictObject({
  title: z.string().trim().min(1).max(80).optional(),
  capabilities: z.array(Capability).refine(once, 'must not name a capability twice').default([]),
})

/** `config/roles.yaml`: which roles there are, what each may do, and which one a user gets who is new to the registry. */
export const RoleBook = z
  .strictObject({ defaultRole: RoleName, roles: z.record(RoleName, Role) })
  .refine(({ roles }) => Object.keys(roles).length > 0, { path: ['roles'], message: 'must name at least one role' })
  .refine(({ defaultRole, roles }) => Object.hasOwn(roles, defaultRole), { path: ['defaultRole'], message: 'must be one of the roles' })
export type RoleBook = z.output<typeof RoleBook>

/** Reads what the file holds. Throws CONFIG_INVALID naming the file and every place in it that is wrong. */
export function readRoleBook(content: unknown, file: string): RoleBook {
  const result = RoleBook.safeParse(content)
  if (result.success) return result.data
  const details = fieldReasons(result.error)
  throw problem('CONFIG_INVALID', `${file}: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })
}

/** What somebody with these roles may do, each once, in the order of the catalogue. A role that the book no longer names grants nothing. */
export function capabilitiesOf({ roles: book }: RoleBook, roles: readonly string[]): Capability[] {
  const granted = new Set(roles.flatMap((role) => (Object.hasOwn(book, role) ? (book[role]?.capabilities ?? []) : [])))
  return Capability.options.filter((capability) => granted.has(capability))
}

/** Those that the book does not name. */
export const unknownRoles = ({ roles: book }: RoleBook, roles: readonly string[]): string[] =>
  roles.filter((role) => !Object.hasOwn(book, role))
