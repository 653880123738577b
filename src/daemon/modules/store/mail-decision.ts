import { decisionMail } from '../../../core/store/index.ts'
import type { JobHandler } from '../../db/index.ts'
import type { StoreDeps } from './deps.ts'
import { findSubmission } from './store.repo.ts'

/** The topic of the job; its payload names the submission alone. */
export const decisionTopic = 'store.decision-mail'

/** Mails the result of a review to the developer. A repeated mail keeps its id. An erased developer gets none. */
export const mailDecision =
  ({ db, mailer }: Pick<StoreDeps, 'db' | 'mailer'>): JobHandler =>
  async (payload, { signal }) => {
    const { submissionId } = payload as { submissionId: string }
    const one = await findSubmission(db, { id: submissionId })
    if (!one?.review) return
    const developer = await db.selectFrom('store_developers').select(['name', 'email']).where('id', '=', one.developerId).executeTakeFirst()
    if (!developer?.email) return
    const { moduleId, version, review } = one
    const { action, notes } = review
    const mail = decisionMail({ action, notes, developer: developer.name, moduleId, version, submissionId })
    await mailer.send({ id: submissionId, to: developer.email, ...mail }, signal)
  }
