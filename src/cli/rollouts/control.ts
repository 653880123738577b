import { plural, problem } from '../../core/kit/index.ts'
import { promotablePast, statusWord, whyOf } from '../../core/rollouts/index.ts'
import { assertConfirmed, assertConfirmedOf, command, flag, many, required, text } from '../kit/index.ts'
import { queue, startBody } from './create.ts'
import { exitOfRollout } from './exit.ts'
import { allowSkipped, followOptions, resultExit, resultView } from './follow.ts'
import { rolloutView } from './rollout.view.ts'
import { followIfRequested, watchRollout } from './watch-rollout.ts'

export const start = command('start <id>', 'Start a queued rollout in the background', {
  options: { skipRefused: flag('--skip-refused', 'skip boxes that the plan blocks'), queue, ...followOptions },
  run: async (context, { id, skipRefused, queue, ...how }) =>
    followIfRequested(context, await context.api.rollouts.startRollout({ params: { id }, ...startBody({ skipRefused, queue }) }), how),
  view: resultView,
  exit: resultExit,
})

export const watch = command('watch <id>', 'Watch a rollout live', {
  options: { allowSkipped },
  run: (context, { id }) => watchRollout(context, id),
  view: () => '',
  exit: exitOfRollout,
})

export const pause = command('pause <id>', 'Pause a rollout; running boxes finish first', {
  options: { reason: required(text('--reason <text>', 'reason for the audit log')) },
  run: ({ api }, { id, reason }) => api.rollouts.pauseRollout({ params: { id }, body: { reason } }),
  view: rolloutView,
})

export const resume = command('resume <id>', 'Resume a paused rollout and retry its failed boxes', {
  options: {
    skipFailed: flag('--skip-failed', 'skip failed boxes'),
    skip: many('--skip <slugs>', 'skip these pending boxes (comma-separated or repeated)'),
    ...followOptions,
  },
  run: async (context, { id, skipFailed, skip, ...how }) => {
    const body = { skipFailed, ...(skip.length > 0 ? { skip: [...skip] } : {}) }
    return followIfRequested(context, await context.api.rollouts.resumeRollout({ params: { id }, body }), how)
  },
  view: resultView,
  exit: resultExit,
})

export const promote = command('promote <id>', 'Continue a rollout past its hold, its bake or its gates', {
  options: { ...followOptions },
  run: async (context, { id, ...how }) => {
    const rollout = await context.api.rollouts.getRollout({ params: { id } })
    const past = promotablePast(rollout)
    const { status, pauseReason, counts } = rollout
    if (past === undefined)
      throw problem(
        'INVALID_TRANSITION',
        `Rollout ${id} is neither held after a phase nor baking: it is ${statusWord(status)}${whyPaused(pauseReason)}`,
      )
    if (counts.pending > 0)
      await assertConfirmed(context.ask, `Continue ${id} past its ${past}? ${plural(counts.pending, 'box', 'boxes')} left.`)
    return followIfRequested(context, await context.api.rollouts.promoteRollout({ params: { id } }), how)
  },
  view: resultView,
  exit: resultExit,
})

const whyPaused = (reason: string | null): string => (reason === null ? '.' : ` (${whyOf({ pauseReason: reason, error: null })}).`)

export const abort = command('abort <id>', 'Abort a rollout; running boxes finish, updated boxes stay', {
  options: { reason: text('--reason <text>', 'reason for the audit log') },
  run: async (context, { id, reason }) => {
    const { api } = context
    const question = `Abort ${id}? Updated boxes stay updated. An aborted rollout cannot be resumed.`
    await assertConfirmedOf(context, question, () => api.rollouts.getRollout({ params: { id } }))
    return api.rollouts.abortRollout({ params: { id }, body: reason ? { reason } : {} })
  },
  view: rolloutView,
})
