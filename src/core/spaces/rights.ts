import type { Capability } from '../kit/index.ts'
import type { SpaceRole, SpaceVisibility } from './space.ts'

type Seen = Readonly<{ visibility: SpaceVisibility; role: SpaceRole | null }>
type Caller = Readonly<{ capabilities: readonly Capability[] }>

/** What one user may do with one space. Whoever may not even find it is told that there is none. */
export type SpaceRights = Readonly<{
  /** That there is one, how it is called. */
  find: boolean
  /** What is in it: files, activity. */
  enter: boolean
  /** Who is in it. */
  seeMembers: boolean
  /** To become a member without being put in. */
  join: boolean
  /** To name it, delete it, put members in and out. */
  manage: boolean
}>

/**
 * An administrator of the tenant (who manages both users and spaces) sees to every space, so that none is left without an owner, but reads what
 * is in it only as a member: which all members can see.
 */
export function spaceRights({ visibility, role }: Seen, { capabilities }: Caller): SpaceRights {
  const isAdministrator = capabilities.includes('manageSpaces') && capabilities.includes('manageUsers')
  const isMember = role !== null
  return {
    find: isMember || isAdministrator || visibility !== 'PRIVATE',
    enter: isMember,
    seeMembers: isMember || isAdministrator,
    join: visibility === 'PUBLIC',
    manage: role === 'owner' || isAdministrator,
  }
}
