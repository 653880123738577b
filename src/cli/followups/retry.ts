import { plural } from '../../core/kit/index.ts'
import { clean, command, text } from '../kit/index.ts'
import { followupNumber } from './followup-number.ts'

export const retry = command(
  'retry [numbers...]',
  'Try follow-up work again that was given up: all of it, or what is named',
  { topic: text('--topic <topic>', 'of one kind only') },
  ({ api }, { numbers = [], topic }) =>
    api.outbox.retryFollowups({
      body: { ...(numbers.length > 0 ? { ids: numbers.map(followupNumber) } : {}), ...(topic === undefined ? {} : { topic }) },
    }),
  ({ retried }, _, { topic }) =>
    retried === 0
      ? topic === undefined
        ? 'Nothing was given up.'
        : `Nothing of the kind ${clean(topic)} was given up: \`tenantry followups list --state dead\` shows what was.`
      : `${plural(retried, 'piece')} of work will be tried again. What is left: tenantry followups list`,
  { examples: ['retry', 'retry 17 18', 'retry --topic chat.space'] },
)
