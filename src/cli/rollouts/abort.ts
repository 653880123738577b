import { assertConfirmed, command, text } from '../kit/index.ts'
import { rolloutView } from './rollout.view.ts'

export const abort = command(
  'abort <id>',
  'End a rollout as failed; boxes under way finish, updated ones stay updated',
  { reason: text('--reason <text>', 'why; it stands in the audit log') },
  async ({ api, ask }, { id, reason }) => {
    await assertConfirmed(ask, `End ${id} for good? Boxes that were updated stay so; nothing can resume it.`)
    return api.rollouts.abortRollout({ params: { id }, body: reason ? { reason } : {} })
  },
  rolloutView,
)
