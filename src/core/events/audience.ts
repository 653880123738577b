import { z } from 'zod'
import { Capability } from '../contract/index.ts'

/**
 * The users of a tenant to which an event is published: the union of all parts. Membership and capabilities are evaluated at publication, also
 * on replay, so a former member of a space receives nothing.
 */
export const Audience = z.union([
  z.literal('tenant'),
  z.strictObject({
    /** Members of these spaces. */
    spaces: z.array(z.string()).min(1).optional(),
    /** Users by id, such as a user just removed from a space. */
    users: z.array(z.string()).min(1).optional(),
    /** Users whose roles grant this capability. */
    capability: Capability.optional(),
    /** The capability counts for users who find all of these spaces: a private one is found by its members alone. */
    within: z.array(z.string()).min(1).optional(),
    /** Users with one of these roles of the role book. */
    roles: z.array(z.string()).min(1).optional(),
  }),
])
export type Audience = Readonly<z.infer<typeof Audience>>

export type Reader = Readonly<{ userId: string; roles: readonly string[]; capabilities: readonly Capability[] }>
/** True if a user is a member of a space now. */
export type IsMember = (spaceId: string, userId: string) => boolean

/** The caller has left out the spaces of `within` that are not private. */
export function reaches(audience: Audience | null, { userId, roles, capabilities }: Reader, isMember: IsMember): boolean {
  if (audience === null) return false
  if (audience === 'tenant') return true
  const { spaces = [], users = [], capability, within = [], roles: audienceRoles = [] } = audience
  return (
    users.includes(userId) ||
    spaces.some((spaceId) => isMember(spaceId, userId)) ||
    (capability !== undefined && capabilities.includes(capability) && within.every((spaceId) => isMember(spaceId, userId))) ||
    audienceRoles.some((role) => roles.includes(role))
  )
}
