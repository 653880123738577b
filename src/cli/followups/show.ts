import { command } from '../kit/index.ts'
import { followupNumber } from './followup-number.ts'
import { followupView } from './followups.view.ts'

export const show = command(
  'show <number>',
  'One piece of follow-up work, what it is about, and why it is not done',
  {},
  ({ api }, { number }) => api.outbox.showFollowup({ params: { id: followupNumber(number) } }),
  followupView,
)
