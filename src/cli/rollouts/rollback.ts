import { plural, problem } from '../../core/kit/index.ts'
import type { RollbackMode, RollbackPlan, Rollout, RolloutDetail } from '../../core/rollouts/index.ts'
import { assertConfirmed, type Context, command, flag, oneOf, text } from '../kit/index.ts'
import { followed, followedView, followOptions } from './followed.ts'
import { undoPlanView } from './undo-plan.view.ts'
import { exitOfUndo } from './words.ts'

export const rollback = command(
  'rollback <id>',
  'End a rollout as rolled back, and bring its updated boxes back where that is asked for',
  {
    reason: text('--reason <text>', 'why; it stands in the audit log'),
    boxes: oneOf('--boxes <way>', 'updated boxes stay (none), get their former images, or the snapshot from before', [
      'none',
      'images',
      'snapshot',
    ]),
    skipRefused: flag('--skip-refused', 'leave boxes as they are that cannot go back this way'),
    plan: flag('--plan', 'only show who could go back, to what, and what would be lost; changes nothing'),
    ...followOptions,
  },
  async (context, { id, reason, boxes, skipRefused, plan, watch, wait }): Promise<RollbackPlan | Rollout | RolloutDetail> => {
    const { api, ask } = context
    const mode = boxes === 'none' ? undefined : boxes
    if (plan) return planned(context, id, mode)
    if (!reason) throw problem('USAGE', "give --reason '…': it stands in the audit log")
    if (mode) await askForBoxes(context, id, mode, skipRefused)
    else await assertConfirmed(ask, `End ${id} as rolled back? Boxes that were updated stay so.`)
    const body = { reason, ...(boxes ? { boxes } : {}), skipRefused }
    return followed(context, await api.rollouts.rollbackRollout({ params: { id }, body }), { watch, wait })
  },
  (result, style, how) => ('mode' in result ? undoPlanView(result, style) : followedView(result, style, how)),
  {
    exit: (result, { watch, wait }) => ('mode' in result || !(watch || wait) ? 0 : exitOfUndo(result)),
    examples: [
      'rollback ro_8x2m4k7p9q3r5t6v1w0y --boxes images --plan',
      "rollback ro_8x2m4k7p9q3r5t6v1w0y --boxes images --reason 'search is broken' --watch",
      "rollback ro_8x2m4k7p9q3r5t6v1w0y --boxes snapshot --skip-refused --reason 'lost rooms' --wait --yes",
    ],
  },
)

function planned({ api }: Context, id: string, mode: RollbackMode | undefined): Promise<RollbackPlan> {
  if (!mode) throw problem('USAGE', '--plan needs --boxes images or --boxes snapshot: without boxes there is nothing to plan')
  return api.rollouts.planUndo({ params: { id }, body: { boxes: mode } })
}

/** What cannot be taken back by a keystroke takes more than one to ask for. */
async function askForBoxes(context: Context, id: string, mode: RollbackMode, skipRefused: boolean): Promise<void> {
  const { ask, notify, yes } = context
  const plan = await planned(context, id, mode)
  notify((style) => `${undoPlanView(plan, style)}\n`)
  if (plan.refusals > 0 && !skipRefused)
    throw problem(
      'PLAN_REFUSED',
      `${plural(plan.refusals, 'box', 'boxes')} cannot go back by ${mode}; nothing was changed. Leave them as they are with --skip-refused${mode === 'images' ? ', or go back by --boxes snapshot' : ''}`,
    )
  const boxes = plural(plan.undoes, 'box', 'boxes')
  if (mode === 'images') return assertConfirmed(ask, `End ${id} as rolled back and bring ${boxes} back to the former images?`)
  if (yes) return
  const typed = await ask.text(`Type ${id} to bring ${boxes} back to snapshots:`, 'give --yes to go on without being asked')
  if (typed.trim() !== id) throw problem('CANCELLED', `that is not ${id}; nothing was changed`)
}
