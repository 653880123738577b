import { command, flag } from '../kit/index.ts'
import { followed, followedExit, followedView, followOptions } from './followed.ts'

export const start = command(
  'start <id>',
  'Start a queued rollout in the background',
  { skipRefused: flag('--skip-refused', 'leave out boxes that the plan refuses'), ...followOptions },
  async (context, { id, skipRefused, ...how }) =>
    followed(context, await context.api.rollouts.startRollout({ params: { id }, body: { skipRefused } }), how),
  followedView,
  { exit: followedExit },
)
