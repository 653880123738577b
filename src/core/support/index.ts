// Support access: for 24 hours a tenant lets operators read the content of its boards. Without it they see structure, states and errors alone.
// It decides nothing about users of the tenant.
import { z } from 'zod'
import { type Contract, empty, endpoint, platform, Timestamp } from '../contract/index.ts'

const path = '/api/platform/v1/support-access'
const auth = platform('manageUsers')

/** How long one grant lasts. */
export const supportAccessMs = 24 * 3_600_000

const SupportAccess = z.object({
  expiresAt: Timestamp.nullable().meta({ description: 'Null: operators have no access' }),
  grantedBy: z.string().nullable(),
})
export type SupportAccess = z.infer<typeof SupportAccess>

export const supportContract = {
  showSupportAccess: endpoint({ method: 'GET', path, auth, returns: SupportAccess, summary: 'Show until when operators may read boards' }),
  grantSupportAccess: endpoint({
    method: 'POST',
    audit: 'support.granted',
    path,
    auth,
    returns: SupportAccess,
    summary: 'Let operators read the content of boards for 24 hours; each use is in the audit log',
  }),
  revokeSupportAccess: endpoint({
    method: 'DELETE',
    audit: 'support.revoked',
    path,
    auth,
    returns: empty,
    summary: 'End the support access now',
  }),
} as const satisfies Contract
