import type { Capability } from '../kit/index.ts'
import { type RoleBook, rolesBeyond } from '../users/index.ts'

export type LinkKind = 'reset' | 'invitation'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** How long a link is valid. */
export const linkMs: Readonly<Record<LinkKind, number>> = { reset: 30 * minuteMs, invitation: 7 * 24 * hourMs }

/** Links within `withinMs`: of one user, of one network, of one tenant. Who asks is not known, so further ones are not sent. */
export const linkBounds = {
  reset: { withinMs: hourMs, perUser: 3, perNetwork: 20, perTenant: 200 },
  invitation: { withinMs: 24 * hourMs, perUser: 5, perNetwork: Number.POSITIVE_INFINITY, perTenant: 2000 },
} as const satisfies Readonly<Record<LinkKind, unknown>>

export type LinkCounts = Readonly<{ ofUser: number; ofNetwork: number; ofTenant: number }>

export const mayLink = (kind: LinkKind, { ofUser, ofNetwork, ofTenant }: LinkCounts): boolean => {
  const { perUser, perNetwork, perTenant } = linkBounds[kind]
  return ofUser < perUser && ofNetwork < perNetwork && ofTenant < perTenant
}

/** A caller's rights; `book` has the roles. */
type Caller = Readonly<{ book: RoleBook; capabilities: readonly Capability[] }>

/** Why the caller cannot give out these roles: who could give out what it lacks could give it to itself. */
export function refusalOfRoles({ book, capabilities }: Caller, roles: readonly string[]): string | undefined {
  const beyond = rolesBeyond(book, capabilities, roles)
  if (beyond.length === 0) return undefined
  return `roles: ${beyond.join(', ')} allows more than your own roles do. fix: ask a user who has ${beyond.length === 1 ? 'that role' : 'those roles'}, or the operator`
}

/** Why the caller cannot change a user with these capabilities: who sets its password could act as it. */
export function refusalOfUser({ capabilities }: Caller, theirs: readonly Capability[]): string | undefined {
  const beyond = theirs.filter((capability) => !capabilities.includes(capability))
  if (beyond.length === 0) return undefined
  return `This user may do what you may not (${beyond.join(', ')}), so you cannot change it. fix: ask a user with these capabilities, or the operator`
}
