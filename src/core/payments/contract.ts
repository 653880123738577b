import { z } from 'zod'
import { admin, type Contract, endpoint, open, Timestamp, text } from '../contract/index.ts'
import { Vendor } from '../marketplace/index.ts'

const one = z.object({ id: z.string().min(1).max(50) })
const vendor = '/api/admin/marketplace/vendors/:id'

/** Below the address of the platform: where the provider sends the browser of a vendor or a tenant after its hosted pages. */
export const returnPath = '/api/public/payments/returned'

/** Accounts of vendors at the payment provider. */
export const paymentsContract = {
  onboardVendor: endpoint({
    method: 'POST',
    audit: 'payment.onboarding-link',
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
    audit: 'payment.account-changed',
    path: `${vendor}/sync`,
    auth: admin('operator'),
    params: one,
    returns: Vendor,
    problems: ['CONFLICT', 'PAYMENTS_UNAVAILABLE', 'PAYMENT_FAILED'],
    summary: 'Read the state of the payment account of a vendor from the provider',
    spec: '4.6',
  }),
  showReturnPage: endpoint({
    method: 'GET',
    path: returnPath,
    auth: open,
    perAddress: 10,
    query: z.object({ link: z.literal('expired').optional() }),
    returns: text('text/html; charset=utf-8'),
    summary: 'The page after the hosted pages of the payment provider, or after a link to them that has expired',
  }),
} as const satisfies Contract
