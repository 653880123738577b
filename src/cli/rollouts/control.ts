import { assertConfirmed, command, flag, many, required, text } from '../kit/index.ts'
import { followed, followedExit, followedView, followOptions, watched } from './follow.ts'
import { rolloutView } from './rollout.view.ts'
import { exitOfRollout } from './words.ts'

export const start = command(
  'start <id>',
  'Start a queued rollout in the background',
  { skipRefused: flag('--skip-refused', 'leave out boxes that the plan refuses'), ...followOptions },
  async (context, { id, skipRefused, ...how }) =>
    followed(context, await context.api.rollouts.startRollout({ params: { id }, body: { skipRefused } }), how),
  followedView,
  { exit: followedExit },
)

export const watch = command(
  'watch <id>',
  'Show a rollout live: phases, boxes under way, failures, time left',
  {},
  (context, { id }) => watched(context, id),
  () => '',
  { exit: exitOfRollout },
)

export const pause = command(
  'pause <id>',
  'Pause before the next tenant; boxes under way finish',
  { reason: required(text('--reason <text>', 'why; it stands in the audit log')) },
  ({ api }, { id, reason }) => api.rollouts.pauseRollout({ params: { id }, body: { reason } }),
  rolloutView,
)

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
