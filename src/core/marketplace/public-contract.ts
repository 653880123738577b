import { z } from 'zod'
import { type Contract, endpoint, file, open, text } from '../contract/index.ts'
import { maxSubmissionBytes, NewSubmission, SubmissionState } from './submission.ts'

const base = '/api/public/marketplace/submissions'
const one = z.object({ id: z.string().min(1).max(100) })
const Token = z.string().min(1).max(100)

/** The public intake of the marketplace. */
/** The page behind the link of a receipt, and its button. */
const confirmation = {
  path: `${base}/:id/confirm`,
  auth: open,
  perAddress: 10,
  params: one,
  query: z.strictObject({ token: Token }),
  returns: text('text/html; charset=utf-8'),
  problems: ['FORBIDDEN'],
} as const

export const marketplacePublicContract = {
  submitItem: endpoint({
    method: 'POST',
    audit: { none: 'a stranger has no account; the submission itself is the record' },
    path: base,
    auth: open,
    perAddress: 2,
    body: NewSubmission,
    bodyLimit: maxSubmissionBytes,
    returns: SubmissionState.extend({ warnings: z.array(z.string()) }),
    status: 201,
    problems: ['PAYLOAD_TOO_LARGE'],
    summary: 'Submit a flow or an app for review; at most 5 an hour from one address',
    spec: '4.5',
  }),
  showSubmissionState: endpoint({
    method: 'GET',
    path: `${base}/:id`,
    auth: open,
    perAddress: 10,
    params: one,
    returns: SubmissionState,
    summary: 'Show the status of a submission',
    spec: '4.5',
  }),
  showSubmissionPage: endpoint({
    method: 'GET',
    path: `${base}/:id/status`,
    auth: open,
    perAddress: 10,
    params: one,
    returns: text('text/html; charset=utf-8'),
    summary: 'The page behind the status link of a receipt',
  }),
  repeatSubmission: endpoint({
    method: 'PUT',
    audit: { none: 'as the first sending of a submission' },
    path: `${base}/:id`,
    auth: open,
    perAddress: 2,
    params: one,
    query: z.strictObject({ token: Token }),
    body: NewSubmission,
    bodyLimit: maxSubmissionBytes,
    returns: SubmissionState.extend({ warnings: z.array(z.string()) }),
    problems: ['FORBIDDEN', 'INVALID_TRANSITION', 'PAYLOAD_TOO_LARGE'],
    summary: 'Send a submission again after a request for changes, with the token of the mail',
  }),
  showAddressConfirmation: endpoint({
    method: 'GET',
    ...confirmation,
    summary: 'The page behind the link of a receipt, with the button that confirms the address; changes nothing',
  }),
  confirmVendorAddress: endpoint({
    method: 'POST',
    audit: 'marketplace.address-proven',
    ...confirmation,
    summary: 'Confirm the mail address of a vendor, by the button on that page',
  }),
  readScreenshot: endpoint({
    method: 'GET',
    path: '/api/public/marketplace/screenshots/:id',
    auth: open,
    perAddress: 30,
    params: one,
    returns: file,
    problems: ['OBJECT_STORE_UNAVAILABLE'],
    summary: 'Download a screenshot of an approved item; those that are not reviewed are not found',
  }),
} as const satisfies Contract
