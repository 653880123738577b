import type { RolloutAction, RolloutAttempt, RolloutDetail, RolloutPlan, RolloutReport } from '../../core/rollouts/index.ts'
import { type Context, command, flag, text } from '../kit/index.ts'
import { actionView } from './action.view.ts'
import { planView } from './plan.view.ts'
import { reportView } from './report.view.ts'
import { rolloutView } from './rollout.view.ts'

type Shown =
  | (RolloutReport & { plan?: RolloutPlan })
  | RolloutDetail
  | Readonly<{ action: RolloutAction; attempts: readonly RolloutAttempt[] }>

export const show = command(
  'show <id>',
  'What became of a rollout: failures first, timeline, fences, steps, and what to type next',
  {
    box: text('--box <slug>', 'what proves the outcome for one box, attempt by attempt'),
    boxes: flag('--boxes', 'every box in a table'),
    plan: flag('--plan', 'the plan that it was made with'),
    report: flag('--report', 'with --json: the post-mortem, instead of the whole record with all boxes'),
  },
  async (context, { id, box, boxes, plan, report }): Promise<Shown> => {
    const params = { id }
    if (box) return context.api.rollouts.getRolloutAction({ params: { id, slug: box } })
    if (boxes || plan || (context.json && !report)) return context.api.rollouts.getRollout({ params })
    return withPlan(context, await context.api.rollouts.reportRollout({ params }))
  },
  (result, style, { plan }) => {
    if ('attempts' in result) return actionView(result, style)
    if ('timeline' in result) return reportView(result, style)
    return plan ? planView(result.plan, style) : rolloutView(result, style)
  },
  { examples: ['show ro_8x2m4k7p9q3r5t6v1w0y', 'show ro_8x2m4k7p9q3r5t6v1w0y --box anna-schule'] },
)

/** Whoever looks at a rollout that has not begun wants to see what it would do. */
async function withPlan({ api, json }: Context, report: RolloutReport): Promise<RolloutReport & { plan?: RolloutPlan }> {
  if (json || report.rollout.status !== 'queued') return report
  const { plan } = await api.rollouts.getRollout({ params: { id: report.rollout.id } })
  return { ...report, plan }
}
