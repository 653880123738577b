import { z } from 'zod'
import { statusOfMail, submissionMail } from '../../core/marketplace/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { findItem } from './items.repo.ts'
import { linksOf } from './links.ts'
import { isSamePrice } from './own-price.ts'
import { findSubmission, type SubmissionRecord } from './submissions.repo.ts'
import { findVendor } from './vendors.repo.ts'

/** The topic of the job; its payload names a submission, never an address. */
export const mailTopic = 'marketplace.submission-mail'

const Payload = z.object({
  submissionId: z.string(),
  kind: z.enum(['receipt', 'approved', 'rejected', 'needs-changes']),
  round: z.int(),
})

/** Mails a vendor. A repeated mail keeps its id. A mail about a state that has passed is not sent. */
export const mailVendor =
  (deps: Pick<MarketplaceDeps, 'db' | 'mailer' | 'keyring' | 'baseUrl'>): JobHandler =>
  async (payload, { signal }) => {
    const { submissionId, kind, round } = Payload.parse(payload)
    const one = await findSubmission(deps.db, submissionId)
    if (one?.round !== round || one.status !== statusOfMail[kind]) return
    const { name, vendorName, reviewNotes } = one
    const approval = await approvalOf(deps, one)
    const facts = { submissionId, name, vendorName, notes: reviewNotes ?? '', approval, ...linksOf(deps, one) }
    const id = `${submissionId}_${kind.replaceAll('-', '_')}_${round}`
    await deps.mailer.send({ id, to: one.vendorEmail, ...submissionMail(kind, facts) }, signal)
  }

/** By item and vendor: an item may be archived, the price in a submission of a new version does not apply, and the account of a vendor may be complete. */
async function approvalOf({ db }: Pick<MarketplaceDeps, 'db'>, one: SubmissionRecord) {
  const item = one.approvedItemId === null ? undefined : await findItem(db, one.approvedItemId)
  if (!item) return { isListed: true, needsAccount: false, keptPrice: null }
  const vendor = item.vendorId === null ? undefined : await findVendor(db, { id: item.vendorId })
  return {
    isListed: item.status === 'published',
    needsAccount: item.priceModel !== null && vendor !== undefined && vendor.paymentAccountStatus !== 'active',
    keptPrice: isSamePrice(item, one) ? null : item,
  }
}
