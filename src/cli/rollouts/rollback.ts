import { command, mustConfirm, oneOf, required, text } from '../kit/index.ts'
import { rolloutView } from './rollout.view.ts'

export const rollback = command(
  'rollback <id>',
  'End a rollout as rolled back',
  {
    reason: required(text('--reason <text>', 'why; it stands in the audit log')),
    boxes: oneOf('--boxes <way>', 'what happens to boxes that were updated already', ['none', 'images', 'snapshot']),
  },
  async ({ api, ask }, { id, reason, boxes }) => {
    await mustConfirm(ask, `End ${id} as rolled back${boxes && boxes !== 'none' ? ` and undo its updated boxes (${boxes})` : ''}?`)
    return api.rollouts.rollbackRollout({ params: { id }, body: { reason, ...(boxes ? { boxes } : {}) } })
  },
  rolloutView,
)
