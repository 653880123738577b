// `tenantry reviews`: list, show, approve and reject submissions of modules, invite and verify developers.
// An operator's login from the role reviewer up does this; without one, the login of a user of the operator tenant.
// It decides nothing itself.
import { type Context, clean, command, count, flag, noun, required, stamp, text } from '../kit/index.ts'
import { reviewList, reviewView } from './reviews.view.ts'

/** The login of a user counts only where no operator is logged in. */
async function asReviewer({ byToken, logins, url }: Context): Promise<{ headers?: Record<string, string> }> {
  if (byToken || (await logins.at(url))) return {}
  const user = await logins.userAt(url)
  return user ? { headers: { authorization: `Bearer ${user.token}` } } : {}
}

const list = command('list', 'List submissions that await a review', {
  options: { limit: count('--limit <count>', 'max results'), cursor: text('--cursor <cursor>', 'pagination cursor') },
  run: async (context, query) => context.api.store.listReviews({ query }, await asReviewer(context)),
  view: reviewList,
})

const show = command('show <submission>', 'Show source, findings and differences of a submission', {
  run: async (context, { submission: id }) => context.api.store.showReview({ params: { id } }, await asReviewer(context)),
  view: reviewView,
})

const decided = ({ status }: { status: string }, _: unknown, { submission }: { submission: string }) =>
  `Submission ${clean(submission)} is ${status}. The developer gets a mail (without a mail server, a file in the daemon's mail folder).`

const approve = command('approve <submission>', 'Approve a submission and publish its module', {
  options: { notes: text('--notes <text>', 'notes for the developer') },
  run: async (context, { submission: id, notes = '' }) =>
    context.api.store.reviewSubmission({ params: { id }, body: { action: 'approve', notes } }, await asReviewer(context)),
  view: decided,
})

const reject = command('reject <submission>', 'Reject a submission with a reason', {
  options: { notes: required(text('--notes <text>', 'the reason, for the developer')) },
  run: async (context, { submission: id, notes }) =>
    context.api.store.reviewSubmission({ params: { id }, body: { action: 'reject', notes } }, await asReviewer(context)),
  view: decided,
  examples: ['reject sub_2x7e --notes "index.js sends names to a log"'],
})

const invite = command('invite', 'Create an invite code for a developer', {
  run: ({ api }) => api.store.createStoreInvite(),
  view: ({ code, expiresAt }, { now }) =>
    `${code}\nIt works once and expires ${stamp(expiresAt, now)}. Save it now, it is not shown again.`,
})

const verify = command('verify <developer>', 'Mark a developer as verified', {
  options: { remove: flag('--remove', 'remove the mark') },
  run: async (context, { developer: id, remove }) =>
    context.api.store.verifyDeveloper({ params: { id }, body: { verified: !remove } }, await asReviewer(context)),
  view: ({ id, name, verified }) => `${clean(name)} (${id}) is ${verified ? 'verified' : 'not verified'}.`,
})

export const reviews = noun('reviews', 'Review modules of the store', [list, show, approve, reject, invite, verify])
