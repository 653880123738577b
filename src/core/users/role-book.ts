import { z } from 'zod'
import { fieldReasons } from '../contract/index.ts'
import { Capability, problem } from '../kit/index.ts'

/** A role of a tenant's users: `teacher`, `school-admin`. */
export const RoleName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,38}[a-z0-9]$/, 'must be 2 to 40 lower-case letters, digits and hyphens, starting with a letter')

const once = (capabilities: readonly Capability[]) => new Set(capabilities).size === capabilities.length

const Role = z.strictObject({
  title: z.string().trim().min(1).max(80).optional(),
  capabilities: z.array(Capability).refine(once, 'must not name a capability twice').default([]),
  /** Everybody of the tenant finds its holders among their contacts. */
  listed: z.boolean().optional(),
})

/** `config/roles.yaml`: which roles there are, what each may do, and which one a user gets who is new to the registry. */
export const RoleBook = z
  .strictObject({ defaultRole: RoleName, roles: z.record(RoleName, Role) })
  .refine(({ roles }) => Object.keys(roles).length > 0, { path: ['roles'], message: 'must name at least one role' })
  .refine(({ defaultRole, roles }) => Object.hasOwn(roles, defaultRole), { path: ['defaultRole'], message: 'must be one of the roles' })
/** With the slug of the tenant that operates the store, which is a setting: without it nobody of a tenant reviews the store. */
export type RoleBook = z.output<typeof RoleBook> & Readonly<{ operatorTenant?: string | undefined }>

/** Reads what the file holds. Throws CONFIG_INVALID naming the file and every place in it that is wrong. */
export function readRoleBook(content: unknown, file: string): RoleBook {
  const result = RoleBook.safeParse(content)
  if (result.success) return result.data
  const details = fieldReasons(result.error)
  throw problem('CONFIG_INVALID', `${file}: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })
}

type Holder = Readonly<{ tenantSlug: string; roles: readonly string[] }>

/**
 * What somebody of a tenant with these roles may do, each once, in the order of the catalogue. A role that the book no longer names grants nothing;
 * `reviewStore` counts only in the tenant that operates the store (SECURITY): other tenants are its customers.
 */
export function capabilitiesOf({ roles: book, operatorTenant }: RoleBook, { tenantSlug, roles }: Holder): Capability[] {
  const granted = new Set(roles.flatMap((role) => (Object.hasOwn(book, role) ? (book[role]?.capabilities ?? []) : [])))
  const counts = (capability: Capability) => capability !== 'reviewStore' || tenantSlug === operatorTenant
  return Capability.options.filter((capability) => granted.has(capability) && counts(capability))
}

/** Roles whose holders everybody of their tenant may see. */
export const listedRoles = ({ roles: book }: RoleBook): string[] => Object.keys(book).filter((role) => book[role]?.listed === true)

/** Those that the book does not name. */
export const unknownRoles = ({ roles: book }: RoleBook, roles: readonly string[]): string[] =>
  roles.filter((role) => !Object.hasOwn(book, role))
