import { z } from 'zod'
import { Capability } from '../contract/index.ts'

/**
 * Who of a tenant is told of an event: each whom one of the parts names. Members and holders are those at the time of telling, not of the event:
 * who has left a space hears no more of it, on replay neither.
 */
export const Audience = z.union([
  z.literal('tenant'),
  z.strictObject({
    /** Members of these spaces. */
    spaces: z.array(z.string()).min(1).optional(),
    /** These users, by the ids of the registry: who was just put out of a space, say. */
    users: z.array(z.string()).min(1).optional(),
    /** Users whose roles grant it. */
    capability: Capability.optional(),
    /** Users who have one of these roles, as the role book spells them. */
    roles: z.array(z.string()).min(1).optional(),
  }),
])
export type Audience = Readonly<z.infer<typeof Audience>>

export type Reader = Readonly<{ userId: string; roles: readonly string[]; capabilities: readonly Capability[] }>
/** Whether a user is a member of a space now. */
export type IsMember = (spaceId: string, userId: string) => boolean

export function reaches(audience: Audience | null, { userId, roles, capabilities }: Reader, isMember: IsMember): boolean {
  if (audience === null) return false
  if (audience === 'tenant') return true
  const { spaces = [], users = [], capability, roles: told = [] } = audience
  return (
    users.includes(userId) ||
    spaces.some((spaceId) => isMember(spaceId, userId)) ||
    (capability !== undefined && capabilities.includes(capability)) ||
    told.some((role) => roles.includes(role))
  )
}
