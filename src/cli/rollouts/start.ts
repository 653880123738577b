import { command } from '../kit/index.ts'
import { followed, followedExit, followedView, followOptions } from './followed.ts'

export const start = command(
  'start <id>',
  'Start a queued rollout in the background',
  followOptions,
  async (context, { id, ...how }) => followed(context, await context.api.rollouts.startRollout({ params: { id } }), how),
  followedView,
  { exit: followedExit },
)
