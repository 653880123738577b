import { z } from 'zod'
import { statusOfMail, submissionMail } from '../../core/marketplace/index.ts'
import type { JobHandler } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { linksOf } from './links.ts'
import { findSubmission } from './submissions.repo.ts'

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
    const { name, vendorName, reviewNotes, priceModel } = one
    const facts = { submissionId, name, vendorName, notes: reviewNotes ?? '', isPaid: priceModel !== null, ...linksOf(deps, one) }
    const id = `${submissionId}_${kind.replaceAll('-', '_')}_${round}`
    await deps.mailer.send({ id, to: one.vendorEmail, ...submissionMail(kind, facts) }, signal)
  }
