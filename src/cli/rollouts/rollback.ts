import { duration, plural, problem } from '../../core/kit/index.ts'
import type { PlannedRollback, RollbackMode, RollbackPlan, Rollout, RolloutDetail } from '../../core/rollouts/index.ts'
import { versionMoves } from '../boxes/index.ts'
import { assertConfirmed, type Column, type Context, command, flag, oneOf, type Style, sections, table, text } from '../kit/index.ts'
import { followed, followedView, followOptions } from './follow.ts'
import { findingLines } from './plan.ts'
import { exitOfRollback } from './words.ts'

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
  (result, style, how) => ('mode' in result ? rollbackPlanView(result, style) : followedView(result, style, how)),
  {
    exit: (result, { watch, wait }) => ('mode' in result || !(watch || wait) ? 0 : exitOfRollback(result)),
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
  notify((style) => `${rollbackPlanView(plan, style)}\n`)
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

export const undo = command(
  'undo <id>',
  'Go on with a way back that stands still, or stop it; `rollback` begins one',
  {
    resume: flag('--resume', 'pass over boxes that came to rest, and try again those that could not be brought back'),
    stop: flag('--stop', 'bring no further box back; those on their way finish'),
    reason: text('--reason <text>', 'why it stops; it stands in the audit log'),
    ...followOptions,
  },
  async (context, { id, resume, stop, reason, ...how }) => {
    const { api, ask } = context
    if (resume === stop) throw problem('USAGE', 'give --resume or --stop')
    if (resume) return followed(context, await api.rollouts.resumeUndo({ params: { id } }), how)
    if (!reason) throw problem('USAGE', "--stop needs --reason '…': it stands in the audit log")
    await assertConfirmed(ask, `Bring no further box of ${id} back? Those that wait stay as they were updated.`)
    return followed(context, await api.rollouts.stopUndo({ params: { id }, body: { reason } }), how)
  },
  followedView,
  { exit: (rollout, { watch, wait }) => (watch || wait ? exitOfRollback(rollout) : 0) },
)

/** Who cannot go back and why; then who goes when, to what, and what its users lose. */
function rollbackPlanView(plan: RollbackPlan, style: Style): string {
  const back = plan.boxes.filter(({ does }) => does === 'undo')
  const refused = plan.boxes.filter(({ does }) => does === 'refuse')
  const { paint } = style
  return sections(
    refused.length > 0
      ? [paint.red(`Cannot go back by ${plan.mode} (${refused.length})`), ...findingLines(refused, 'refuse')].join('\n')
      : '',
    back.length > 0 ? table(style, plan.mode === 'images' ? rollbackColumns : [...rollbackColumns, ...lossColumns], back) : '',
    rollbackWarnings(back, style),
    rollbackTotals(plan, back, style),
  )
}

const rollbackColumns: readonly Column<PlannedRollback>[] = [
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1, minWidth: 12 },
  { title: 'HOST', value: ({ hostName }) => hostName, priority: 3, minWidth: 6 },
  { title: 'BACK', value: ({ from, to }) => versionMoves(from, to), priority: 1, minWidth: 18 },
]

const lossColumns: readonly Column<PlannedRollback>[] = [
  { title: 'SNAPSHOT', value: ({ snapshotId }) => snapshotId?.slice(0, 8), priority: 3 },
  { title: 'LOSES ALL SINCE', value: ({ losesSince }) => losesSince && minute(losesSince), priority: 2, paint: () => 'red' },
  { title: 'WHICH IS', value: ({ losesMs }) => duration(losesMs), priority: 1, align: 'right', paint: () => 'red' },
]

const minute = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

function rollbackWarnings(boxes: readonly PlannedRollback[], { paint }: Style): string {
  const warned = boxes.filter(({ findings }) => findings.some(({ severity }) => severity === 'warn'))
  return warned.length === 0 ? '' : [paint.yellow(`Warnings (${warned.length})`), ...findingLines(warned, 'warn')].join('\n')
}

/** A rollout that still runs does not wait for the answer. */
const meanwhile = 'A box whose update ends only after this goes back too.'

function rollbackTotals({ mode, undoes, refusals }: RollbackPlan, back: readonly PlannedRollback[], { paint }: Style): string {
  if (undoes + refusals === 0) return 'No box was updated: there is nothing to bring back.'
  const counted = `${plural(undoes, 'box', 'boxes')} ${undoes === 1 ? 'goes' : 'go'} back by ${mode}, the last that was updated first${refusals > 0 ? `; ${refusals} cannot` : ''}.`
  if (undoes === 0) return `No box can go back by ${mode}.`
  const [of, them, loser, kept] =
    undoes === 1 ? ['Its', 'it', 'its', 'a snapshot of its own'] : ['Their', 'them', 'their', 'a snapshot of each']
  if (mode === 'images') return `${counted} ${of} data stays as it is: nothing that was written is lost.\n${meanwhile}`
  const [first] = back.map(({ losesSince }) => losesSince ?? '').sort()
  const worst = Math.max(...back.map(({ losesMs }) => losesMs))
  const loss = `Everything written in ${them} since ${loser} update (${undoes === 1 ? '' : 'the earliest: '}${minute(first ?? '')}), ${undoes === 1 ? '' : 'at most '}${duration(worst)}, is lost to ${loser} users: messages, files, accounts.`
  return `${counted}\n${paint.red(loss)}\nWhat is there now is kept as ${kept}. ${meanwhile}`
}
