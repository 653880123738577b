import { command, required, text } from '../kit/index.ts'
import { rolloutView } from './rollout.view.ts'

export const pause = command(
  'pause <id>',
  'Pause before the next tenant; boxes under way finish',
  { reason: required(text('--reason <text>', 'why; it stands in the audit log')) },
  ({ api }, { id, reason }) => api.rollouts.pauseRollout({ params: { id }, body: { reason } }),
  rolloutView,
)
