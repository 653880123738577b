import { command, text } from '../kit/index.ts'
import { actionView } from './action.view.ts'
import { rolloutView } from './rollout.view.ts'

export const show = command(
  'show <id>',
  'One rollout with its boxes; with --box what proves the outcome of one',
  { box: text('--box <slug>', 'the attempts and evidence of one box') },
  async ({ api }, { id, box }) =>
    box ? api.rollouts.getRolloutAction({ params: { id, slug: box } }) : api.rollouts.getRollout({ params: { id } }),
  (result, look) => ('attempts' in result ? actionView(result, look) : rolloutView(result, look)),
)
