import { z } from 'zod'
import { admin, type Contract, endpoint, Paging } from '../contract/index.ts'
import { one } from './contract.ts'
import { Item, ItemChange, ItemStatus } from './item.ts'
import { Approval, Reason, Submission, SubmissionStatus, SubmissionSummary } from './submission.ts'
import { NewVendor, Vendor, VendorChange } from './vendor.ts'

const base = '/api/admin/marketplace'

/** The marketplace for operators and reviewers. */
export const marketplaceAdminContract = {
  listItems: endpoint({
    method: 'GET',
    path: `${base}/items`,
    auth: admin('viewer'),
    query: Paging.extend({ status: ItemStatus.optional() }),
    returns: z.object({ items: z.array(Item), nextCursor: z.string().nullable() }),
    summary: 'List items, draft and archived ones too, newest first',
    spec: '4.6',
  }),
  listVendors: endpoint({
    method: 'GET',
    path: `${base}/vendors`,
    auth: admin('viewer'),
    query: Paging,
    returns: z.object({ vendors: z.array(Vendor), nextCursor: z.string().nullable() }),
    summary: 'List vendors, newest first',
    spec: '4.6',
  }),
  listMarketplaceSubmissions: endpoint({
    method: 'GET',
    path: `${base}/submissions`,
    auth: admin('reviewer'),
    query: Paging.extend({ status: SubmissionStatus.optional() }),
    returns: z.object({ submissions: z.array(SubmissionSummary), nextCursor: z.string().nullable() }),
    summary: 'List submissions, newest first',
    spec: '4.6',
  }),
  showMarketplaceSubmission: endpoint({
    method: 'GET',
    path: `${base}/submissions/:id`,
    auth: admin('reviewer'),
    params: one,
    returns: Submission,
    summary: 'Show a submission with its bundle and warnings',
    spec: '4.6',
  }),
  approveMarketplaceSubmission: endpoint({
    method: 'POST',
    path: `${base}/submissions/:id/approve`,
    auth: admin('reviewer'),
    params: one,
    body: Approval.prefault({}),
    returns: z.object({ success: z.literal(true), status: z.literal('approved'), item: Item, vendorId: z.string() }),
    problems: ['INVALID_TRANSITION', 'CONFLICT', 'VERSION_EXISTS'],
    summary: 'Approve a submission and publish its item; the vendor gets a mail',
    spec: '3.3',
  }),
  rejectMarketplaceSubmission: endpoint({
    method: 'POST',
    path: `${base}/submissions/:id/reject`,
    auth: admin('reviewer'),
    params: one,
    body: z.strictObject({ reason: Reason }),
    returns: z.object({ success: z.literal(true), status: z.literal('rejected') }),
    problems: ['INVALID_TRANSITION'],
    summary: 'Reject a submission with a reason; the vendor gets a mail',
    spec: '3.3',
  }),
  requestMarketplaceChanges: endpoint({
    method: 'POST',
    path: `${base}/submissions/:id/request-changes`,
    auth: admin('reviewer'),
    params: one,
    body: z.strictObject({ reason: Reason }),
    returns: z.object({ success: z.literal(true), status: z.literal('needs-changes') }),
    problems: ['INVALID_TRANSITION'],
    summary: 'Ask the vendor for changes; the mail has a token to send the submission again',
    spec: '3.3',
  }),
  changeItem: endpoint({
    method: 'PATCH',
    path: `${base}/items/:id`,
    auth: admin('operator'),
    params: one,
    body: ItemChange,
    returns: Item,
    problems: ['INVALID_TRANSITION'],
    summary: 'Change status, price, vendor or screenshots of an item',
    spec: '3.4',
  }),
  createVendor: endpoint({
    method: 'POST',
    path: `${base}/vendors`,
    auth: admin('operator'),
    body: NewVendor,
    returns: Vendor,
    status: 201,
    summary: 'Create a vendor; its payment account is created afterwards',
    spec: '4.6',
  }),
  changeVendor: endpoint({
    method: 'PATCH',
    path: `${base}/vendors/:id`,
    auth: admin('operator'),
    params: one,
    body: VendorChange,
    returns: Vendor,
    problems: ['CONFLICT'],
    summary: 'Change name, contact address or fee of a vendor; live subscriptions get the fee',
  }),
} as const satisfies Contract
