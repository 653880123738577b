import { platform } from '../contract/index.ts'

/** Reviewers: users of the operator tenant with `reviewStore`, and admins from the role `reviewer` up. */
export const storeReviewer = { ...platform('reviewStore'), orAdmin: 'reviewer' } as const
