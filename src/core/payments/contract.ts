import { z } from 'zod'
import { admin, type Contract, endpoint, Timestamp } from '../contract/index.ts'
import { Vendor } from '../marketplace/index.ts'

const one = z.object({ id: z.string().min(1).max(50) })
const vendor = '/api/admin/marketplace/vendors/:id'

/** Accounts of vendors at the payment provider. */
export const paymentsContract = {
  onboardVendor: endpoint({
    method: 'POST',
    path: `${vendor}/onboarding-link`,
    auth: admin('operator'),
    params: one,
    returns: z.object({ url: z.string(), expiresAt: Timestamp }),
    problems: ['CONFLICT', 'PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED'],
    summary: 'Create a link for one use to the hosted page where the vendor completes its payment account',
    spec: '4.6',
  }),
  syncVendor: endpoint({
    method: 'POST',
    path: `${vendor}/sync`,
    auth: admin('operator'),
    params: one,
    returns: Vendor,
    problems: ['CONFLICT', 'PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED'],
    summary: 'Read the state of the payment account of a vendor from the provider',
    spec: '4.6',
  }),
} as const satisfies Contract
