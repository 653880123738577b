import { command, flag, many } from '../kit/index.ts'
import { followed, followedExit, followedView, followOptions } from './followed.ts'

export const resume = command(
  'resume <id>',
  'Go on after a pause: failed boxes are tried again',
  {
    skipFailed: flag('--skip-failed', 'leave the failed boxes out'),
    skip: many('--skip <slugs>', 'leave these waiting boxes out (commas, or several times)'),
    ...followOptions,
  },
  async (context, { id, skipFailed, skip, ...how }) => {
    const body = { skipFailed, ...(skip.length > 0 ? { skip: [...skip] } : {}) }
    return followed(context, await context.api.rollouts.resumeRollout({ params: { id }, body }), how)
  },
  followedView,
  { exit: followedExit },
)
