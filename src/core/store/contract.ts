import { z } from 'zod'
import { adminPerson, type Contract, developer, endpoint, file, open, Paging, platform, Timestamp } from '../contract/index.ts'
import { maxPackageBytes } from '../modules/index.ts'
import { Difference } from './difference.ts'
import { storeReviewer } from './reviewer.ts'
import { Developer, NewDeveloper, NewSubmission, ReviewAction, SourceFile, Submission, SubmissionSummary } from './submission.ts'

const base = '/api/platform/v1/store'
const SubmissionId = z.string().min(1).max(100)
const DownloadLink = { downloadUrl: z.string(), expiresInSeconds: z.int() }

/** Invite codes of the store, for operators. */
export const storeInvitesContract = {
  createStoreInvite: endpoint({
    method: 'POST',
    audit: 'store.invite-created',
    path: '/api/admin/v1/store/invites',
    auth: adminPerson('operator'),
    returns: z.object({ code: z.string(), expiresAt: Timestamp }),
    status: 201,
    summary: 'Create a code with which one user becomes a developer; it is shown once',
  }),
} as const satisfies Contract

export const storeContract = {
  registerDeveloper: endpoint({
    method: 'POST',
    audit: 'store.developer-registered',
    path: `${base}/developer/register`,
    auth: platform('manageModules'),
    body: NewDeveloper,
    returns: Developer,
    status: 201,
    problems: ['FORBIDDEN', 'ALREADY_EXISTS'],
    summary: 'Become a developer of modules',
  }),
  uploadModule: endpoint({
    method: 'POST',
    audit: 'store.module-submitted',
    path: `${base}/developer/upload`,
    auth: developer,
    cost: 'examination',
    multipart: {
      part: 'artifact',
      maxBytes: maxPackageBytes,
      fields: z.strictObject({ manifest: z.string().meta({ description: 'The content of module.json' }) }),
      fieldBytes: 262_144,
    },
    returns: z.object({ artifactPath: z.string(), checksum: z.string(), submissionId: z.string() }),
    status: 201,
    problems: [
      ...(['MODULE_INVALID', 'MANIFEST_MISMATCH', 'SCAN_FAILED', 'INCOMPATIBLE', 'FLAG_TAKEN', 'VERSION_EXISTS'] as const),
      ...(['ALREADY_EXISTS', 'CONFLICT', 'QUOTA_EXCEEDED', 'OBJECT_STORE_UNAVAILABLE'] as const),
    ],
    summary: 'Upload a package of at most 50 MB, scan and test it, and submit it for review',
    spec: '4.3',
  }),
  submitModule: endpoint({
    method: 'POST',
    audit: { none: 'it confirms the submission of an upload, which is audited' },
    path: `${base}/developer/submit`,
    auth: developer,
    cost: 'examination',
    body: NewSubmission,
    bodyLimit: 1024 * 1024,
    returns: z.object({ submissionId: z.string(), status: z.literal('in_review') }),
    problems: ['MODULE_INVALID', 'MANIFEST_MISMATCH', 'SCAN_FAILED', 'INVALID_TRANSITION', 'NOT_FOUND'],
    summary: 'Confirm the submission of an uploaded package; source files are scanned in addition',
    spec: '4.3',
  }),
  listSubmissions: endpoint({
    method: 'GET',
    path: `${base}/developer/submissions`,
    auth: developer,
    query: Paging,
    returns: z.object({ submissions: z.array(SubmissionSummary), nextCursor: z.string().nullable() }),
    summary: 'List your submissions, newest first',
    spec: '4.3',
  }),
  showSubmission: endpoint({
    method: 'GET',
    path: `${base}/developer/submissions/:id`,
    auth: developer,
    params: z.object({ id: SubmissionId }),
    returns: Submission,
    summary: 'Show a submission with the results of scan, test and review',
    spec: '4.3',
  }),
  linkPackage: endpoint({
    method: 'GET',
    path: `${base}/developer/download/:submissionId`,
    auth: developer,
    params: z.object({ submissionId: SubmissionId }),
    returns: z.object(DownloadLink),
    summary: 'Create a link to the package of a submission; it is valid for 15 minutes',
    spec: '4.3',
  }),
  downloadPackage: endpoint({
    method: 'GET',
    path: '/api/public/store/artifacts/:key',
    auth: open,
    params: z.object({ key: z.string().max(100) }),
    query: z.strictObject({ expires: z.coerce.number().int().min(0).max(99_999_999_999), signature: z.string().max(100) }),
    perAddress: 20,
    returns: file,
    problems: ['FORBIDDEN', 'OBJECT_STORE_UNAVAILABLE'],
    summary: 'Download a package by its link',
  }),
  listReviews: endpoint({
    method: 'GET',
    path: `${base}/admin/reviews`,
    auth: storeReviewer,
    query: Paging,
    returns: z.object({
      reviews: z.array(Submission.extend({ developer: Developer, ...DownloadLink })),
      nextCursor: z.string().nullable(),
    }),
    summary: 'List submissions that await a review, newest first, with a link to each package',
    spec: '4.3',
  }),
  showReview: endpoint({
    method: 'GET',
    path: `${base}/admin/reviews/:id`,
    auth: storeReviewer,
    // It reads two packages, of up to 50 MB each.
    cost: 'export',
    params: z.object({ id: SubmissionId }),
    returns: Submission.extend({ developer: Developer, ...DownloadLink, difference: Difference, sources: z.array(SourceFile) }),
    problems: ['OBJECT_STORE_UNAVAILABLE'],
    summary: 'Show a submission with its source and its difference to the last approved version',
  }),
  verifyDeveloper: endpoint({
    method: 'PATCH',
    audit: ['store.developer-verified', 'store.developer-unverified'],
    path: `${base}/admin/developers/:id`,
    auth: storeReviewer,
    params: z.object({ id: z.string().min(1).max(100) }),
    body: z.strictObject({ verified: z.boolean() }),
    returns: Developer,
    summary: 'Mark a developer as verified, or not',
  }),
  reviewSubmission: endpoint({
    method: 'POST',
    audit: ['store.module-approved', 'store.module-rejected'],
    path: `${base}/admin/reviews/:id`,
    auth: storeReviewer,
    params: z.object({ id: SubmissionId }),
    body: ReviewAction,
    returns: z.object({ success: z.literal(true), status: z.enum(['approved', 'rejected']) }),
    problems: ['INVALID_TRANSITION', 'FLAG_TAKEN', 'VERSION_EXISTS', 'ALREADY_EXISTS'],
    summary: 'Approve or reject a submission of another developer',
    spec: '4.3',
  }),
} as const satisfies Contract
