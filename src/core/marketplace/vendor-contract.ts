import { z } from 'zod'
import { type Contract, Email, empty, endpoint, file, open, Paging, Timestamp, vendor } from '../contract/index.ts'
import { one } from './contract.ts'
import { maxScreenshotBytes, Screenshot } from './screenshot.ts'
import { maxSubmissionBytes, SubmissionContent } from './submission.ts'
import { VendorAccount, VendorItem, VendorItemDetail, VendorSubmission, VendorSubmissionDetail } from './vendor-account.ts'

const base = '/api/vendor/v1'
const perAddress = 10
const own = { auth: vendor, perAddress } as const

const Token = z.string().min(1).max(200)

/** Spends the link of a mail. */
const opened = {
  method: 'POST',
  audit: 'marketplace.vendor-session-opened',
  auth: open,
  perAddress: 2,
  body: z.strictObject({ token: Token.meta({ description: 'Of the link of the mail; valid once, for 30 minutes' }) }),
} as const

const Opened = z.object({ email: z.string(), expiresAt: Timestamp })

/** The account of a vendor: what belongs to the mail address that its session proved. */
export const vendorContract = {
  sendVendorLink: endpoint({
    method: 'POST',
    audit: { none: 'a stranger has no account; the link that follows is the record' },
    path: `${base}/links`,
    auth: open,
    perAddress: 2,
    body: z.strictObject({ email: Email }),
    returns: empty,
    summary: 'Mail a link that opens the account of this address, if there is one; the answer is always the same',
  }),
  openVendorSession: endpoint({
    ...opened,
    path: `${base}/sessions`,
    returns: Opened.extend({ token: z.string() }),
    problems: ['LINK_INVALID'],
    summary: 'Open a session of 8 hours with the token of a link; send its own token as Authorization: Bearer',
  }),
  openVendorPage: endpoint({
    ...opened,
    path: `${base}/page-sessions`,
    returns: Opened,
    problems: ['LINK_INVALID', 'FORBIDDEN', 'CONFIG'],
    summary: 'Open a session of 8 hours for the page at /vendor with the token of a link; sets a cookie',
  }),
  closeVendorSession: endpoint({
    method: 'DELETE',
    audit: { none: 'vendors end their own sessions' },
    path: `${base}/session`,
    ...own,
    returns: empty,
    summary: 'End the session; deletes the cookie of the page',
  }),
  showVendorAccount: endpoint({
    method: 'GET',
    path: `${base}/account`,
    ...own,
    returns: VendorAccount,
    summary: 'Show the account: its address and its vendors with their payment accounts',
  }),
  listVendorItems: endpoint({
    method: 'GET',
    path: `${base}/items`,
    ...own,
    query: Paging,
    returns: z.object({ items: z.array(VendorItem), nextCursor: z.string().nullable() }),
    summary: 'List the items of the account in every status, newest first',
  }),
  showVendorItem: endpoint({
    method: 'GET',
    path: `${base}/items/:id`,
    ...own,
    params: one,
    returns: VendorItemDetail,
    summary: 'Show an item of the account with its versions and their reviews',
  }),
  submitVersion: endpoint({
    method: 'POST',
    audit: 'marketplace.version-submitted',
    path: `${base}/items/:id/versions`,
    ...own,
    params: one,
    body: SubmissionContent,
    bodyLimit: maxSubmissionBytes,
    returns: VendorSubmissionDetail,
    status: 201,
    problems: ['CONFLICT', 'VERSION_EXISTS', 'PAYLOAD_TOO_LARGE'],
    summary: 'Submit a new version of an item for review; its name and price stay',
  }),
  withdrawItem: endpoint({
    method: 'POST',
    audit: 'marketplace.item-withdrawn',
    path: `${base}/items/:id/withdraw`,
    ...own,
    params: one,
    returns: VendorItem,
    summary: 'Withdraw an item: it can no longer be installed, and paid subscriptions end with their period',
  }),
  listVendorSubmissions: endpoint({
    method: 'GET',
    path: `${base}/submissions`,
    ...own,
    query: Paging,
    returns: z.object({ submissions: z.array(VendorSubmission), nextCursor: z.string().nullable() }),
    summary: 'List all submissions of the address, newest first',
  }),
  showVendorSubmission: endpoint({
    method: 'GET',
    path: `${base}/submissions/:id`,
    ...own,
    params: one,
    returns: VendorSubmissionDetail,
    summary: 'Show a submission of the address with its screenshots',
  }),
  confirmSubmission: endpoint({
    method: 'POST',
    audit: 'marketplace.address-proven',
    path: `${base}/submissions/:id/confirm`,
    ...own,
    params: one,
    returns: VendorSubmissionDetail,
    summary: 'Confirm that a submission of the address is yours: it joins the vendor of the address',
  }),
  reviseSubmission: endpoint({
    method: 'PUT',
    audit: 'marketplace.submission-revised',
    path: `${base}/submissions/:id`,
    ...own,
    params: one,
    body: SubmissionContent,
    bodyLimit: maxSubmissionBytes,
    returns: VendorSubmissionDetail,
    problems: ['CONFLICT', 'INVALID_TRANSITION', 'VERSION_EXISTS', 'PAYLOAD_TOO_LARGE'],
    summary: 'Send a confirmed submission again after a request for changes',
  }),
  addScreenshot: endpoint({
    method: 'POST',
    audit: 'marketplace.screenshot-added',
    path: `${base}/submissions/:id/screenshots`,
    ...own,
    params: one,
    multipart: { part: 'screenshot', maxBytes: maxScreenshotBytes, fields: z.strictObject({}) },
    returns: Screenshot,
    status: 201,
    problems: ['CONFLICT', 'INVALID_TRANSITION', 'OBJECT_STORE_UNAVAILABLE'],
    summary: 'Add a PNG, JPEG or WebP of at most 1 MB to a confirmed submission that is not reviewed yet; at most 6',
  }),
  deleteScreenshot: endpoint({
    method: 'DELETE',
    audit: 'marketplace.screenshot-deleted',
    path: `${base}/submissions/:id/screenshots/:screenshotId`,
    ...own,
    params: one.extend({ screenshotId: z.string().min(1).max(100) }),
    returns: empty,
    problems: ['CONFLICT', 'INVALID_TRANSITION', 'OBJECT_STORE_UNAVAILABLE'],
    summary: 'Delete a screenshot of a submission that is not reviewed yet',
  }),
  readOwnScreenshot: endpoint({
    method: 'GET',
    path: `${base}/screenshots/:id`,
    ...own,
    params: one,
    returns: file,
    problems: ['OBJECT_STORE_UNAVAILABLE'],
    summary: 'Download a screenshot of a submission of the address',
  }),
} as const satisfies Contract
