import { z } from 'zod'
import { problem } from '../kit/index.ts'

export const Permission = z.enum(['spaces:read', 'files:read', 'files:write', 'events:publish', 'events:subscribe'])
export type Permission = z.infer<typeof Permission>

export type PermissionDifference = Readonly<{ added: readonly Permission[]; removed: readonly Permission[] }>

/** Declared permissions of the next version against those of the present one, sorted. */
export const permissionDifference = (present: readonly Permission[], next: readonly Permission[]): PermissionDifference => ({
  added: next.filter((one) => !present.includes(one)).sort(),
  removed: present.filter((one) => !next.includes(one)).sort(),
})

/** Approved permissions without duplicates. Throws PERMISSION_NOT_DECLARED; fewer than declared is fine. */
export function approvedOf(declared: readonly Permission[], approved: readonly string[]): readonly Permission[] {
  const undeclared = [...new Set(approved)].filter((one) => !declared.includes(one as Permission))
  if (undeclared.length > 0)
    throw problem(
      'PERMISSION_NOT_DECLARED',
      `The manifest does not declare ${undeclared.join(', ')}. fix: approve some of: ${declared.join(', ') || 'none'}`,
    )
  return declared.filter((one) => approved.includes(one))
}

type Consent = Readonly<{
  /** Declared by the installed version. */
  declared: readonly Permission[]
  /** Approved for the installed version. */
  approved: readonly Permission[]
  /** Declared by the next version. */
  next: readonly Permission[]
  /** Approved for the next version; undefined when the caller did not decide. */
  nextApproved?: readonly string[] | undefined
}>

/**
 * Permissions after an update: an explicit approval, else those approved before that the next version still declares. Undefined when the next
 * version declares a permission that was not shown to the tenant and the caller did not decide: `PERMISSIONS_CHANGED`.
 */
export function approvedAfterUpdate({ declared, approved, next, nextApproved }: Consent): readonly Permission[] | undefined {
  if (nextApproved !== undefined) return approvedOf(next, nextApproved)
  return permissionDifference(declared, next).added.length > 0 ? undefined : next.filter((one) => approved.includes(one))
}
