import { z } from 'zod'
import { Capability, fieldReasons } from '../contract/index.ts'
import { problem } from '../kit/index.ts'

/** A role of a tenant's users: `teacher`, `school-admin`. */
export const RoleName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,38}[a-z0-9]$/, 'must be 2 to 40 lower-case letters, digits and hyphens, starting with a letter')

const once = (capabilities: readonly Capability[]) => new Set(capabilities).size === capabilities.length

const Role = z.strictObject({
  title: z.string().trim().min(1).max(80).optional(),
  capabilities: z.array(Capability).refine(once, 'must not name a capability twice').default([]),
  /** Users with this role are contacts of every user of the tenant. */
  listed: z.boolean().optional(),
  /** Other names by which automation tools assign tasks to the role. */
  aliases: z.array(RoleName).max(20).optional(),
})

type Roles = Readonly<Record<string, z.output<typeof Role>>>
const aliasesOf = (roles: Roles): string[] => Object.values(roles).flatMap(({ aliases = [] }) => aliases)

function aliasesAreFree({ roles }: Readonly<{ roles: Roles }>): boolean {
  const aliases = aliasesOf(roles)
  return new Set(aliases).size === aliases.length && aliases.every((alias) => !Object.hasOwn(roles, alias))
}

/** `config/roles.yaml`: the roles, their capabilities, and the role of a new user. */
export const RoleBook = z
  .strictObject({ defaultRole: RoleName, roles: z.record(RoleName, Role) })
  .refine(({ roles }) => Object.keys(roles).length > 0, { path: ['roles'], message: 'must name at least one role' })
  .refine(aliasesAreFree, { path: ['roles'], message: 'must not use the name of a role as an alias, or an alias twice' })
  .refine(({ defaultRole, roles }) => Object.hasOwn(roles, defaultRole), { path: ['defaultRole'], message: 'must be one of the roles' })
/** `operatorTenant`: slug of the tenant that operates the store (a setting). Without it no user has `reviewStore`. */
export type RoleBook = z.output<typeof RoleBook> & Readonly<{ operatorTenant?: string | undefined }>

/** Parses the content of the file. Throws CONFIG_INVALID naming the file and every invalid field. */
export function readRoleBook(content: unknown, file: string): RoleBook {
  const result = RoleBook.safeParse(content)
  if (result.success) return result.data
  const details = fieldReasons(result.error)
  throw problem('CONFIG_INVALID', `${file}: ${details.map(({ path, reason }) => `${path} ${reason}`).join('; ')}`, { details })
}

type UserRoles = Readonly<{ tenantSlug: string; roles: readonly string[] }>

/**
 * The capabilities of a user with these roles, without duplicates, in the order of the catalogue. Unknown roles grant nothing. `reviewStore`
 * is granted only in the tenant that operates the store: other tenants are its customers.
 */
export function capabilitiesOf({ roles: book, operatorTenant }: RoleBook, { tenantSlug, roles }: UserRoles): Capability[] {
  const granted = new Set(roles.flatMap((role) => (Object.hasOwn(book, role) ? (book[role]?.capabilities ?? []) : [])))
  const isGrantable = (capability: Capability) => capability !== 'reviewStore' || tenantSlug === operatorTenant
  return Capability.options.filter((capability) => granted.has(capability) && isGrantable(capability))
}

/** Roles whose users are visible to every user of their tenant. */
export const listedRoles = ({ roles: book }: RoleBook): string[] => Object.keys(book).filter((role) => book[role]?.listed === true)

/** The role of the book that has this name as an alias; undefined if the name is a role, or unknown. */
export const roleOfAlias = ({ roles: book }: RoleBook, name: string): string | undefined =>
  Object.hasOwn(book, name) ? undefined : Object.keys(book).find((role) => book[role]?.aliases?.includes(name))

/** The roles that grant a capability which is not among these: who has these alone may not give them out. */
export const rolesBeyond = ({ roles: book }: RoleBook, capabilities: readonly Capability[], roles: readonly string[]): string[] =>
  roles.filter((role) => Object.hasOwn(book, role) && book[role]?.capabilities.some((capability) => !capabilities.includes(capability)))

/** Roles that grant the capability. */
export const rolesWith = ({ roles: book }: RoleBook, capability: Capability): string[] =>
  Object.keys(book).filter((role) => book[role]?.capabilities.includes(capability))

/** The roles that the book does not define. */
export const unknownRoles = ({ roles: book }: RoleBook, roles: readonly string[]): string[] =>
  roles.filter((role) => !Object.hasOwn(book, role))
