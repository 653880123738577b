import { versionMoves } from '../../core/boxes/index.ts'
import { duration, plural, problem } from '../../core/kit/index.ts'
import type { PlannedRollback, RollbackMode, RollbackPlan, Rollout, RolloutDetail } from '../../core/rollouts/index.ts'
import {
  assertConfirmed,
  assertConfirmedOf,
  type Column,
  type Context,
  clean,
  command,
  flag,
  oneOf,
  type Style,
  sections,
  table,
  text,
} from '../kit/index.ts'
import { exitOfRollback } from './exit.ts'
import { followOptions, resultView } from './follow.ts'
import { activeText, findingLines } from './plan.ts'
import { followIfRequested } from './watch-rollout.ts'

export const rollback = command('rollback <id>', 'Roll back a rollout; preview, resume or stop its rollback', {
  options: {
    reason: text('--reason <text>', 'reason for the audit log'),
    boxes: oneOf('--boxes <mode>', 'updated boxes: previous images, previous snapshot, or keep them', ['images', 'snapshot', 'none']),
    skipRefused: flag('--skip-refused', 'skip boxes that cannot be rolled back'),
    plan: flag('--plan', 'preview the rollback and its data loss (read-only)'),
    resume: flag('--resume', 'resume a stalled rollback: skip stalled boxes, retry failed ones'),
    stop: flag('--stop', 'stop the rollback: running boxes finish, pending ones stay updated'),
    watch: followOptions.watch,
    wait: followOptions.wait,
  },
  run: async (context, { id, watch, wait, ...input }): Promise<RollbackPlan | Rollout | RolloutDetail> => {
    assertOneMode(input)
    const { reason, plan, resume, stop } = input
    const mode = input.boxes === 'none' ? undefined : input.boxes
    if (plan) return planRollback(context, id, mode)
    if (resume) return followIfRequested(context, await context.api.rollouts.resumeRollback({ params: { id } }), { watch, wait })
    if (!stop && !input.boxes) throw problem('USAGE', noMode(id))
    if (!reason) throw problem('USAGE', "--reason is required, for the audit log; pass --reason '…'")
    const run = stop ? stopRollback(context, id, reason) : startRollback(context, id, { ...input, boxes: input.boxes ?? 'none', reason })
    return followIfRequested(context, await run, { watch, wait })
  },
  view: (result, style, how) => ('mode' in result ? rollbackPlanView(result, style) : resultView(result, style, how)),
  exit: (result, { watch, wait }) => ('mode' in result || !(watch || wait) ? 0 : exitOfRollback(result)),
  examples: [
    'rollback ro_8x2m4k7p9q3r5t6v1w0y --boxes images --plan',
    "rollback ro_8x2m4k7p9q3r5t6v1w0y --boxes images --reason 'search is broken' --watch",
    "rollback ro_8x2m4k7p9q3r5t6v1w0y --boxes images --skip-refused --reason 'lost rooms' --wait --yes",
    'rollback ro_8x2m4k7p9q3r5t6v1w0y --resume --watch',
  ],
})

/** No mode is the default: to keep the boxes is no rollback of them, and a snapshot loses data. */
const noMode = (id: string): string =>
  `--boxes is required: it says what happens to the updated boxes (none keeps them). fix: preview \`tenantry rollouts rollback ${id} --boxes images --plan\``

type Boxes = 'none' | RollbackMode
type Input = Readonly<{ boxes: Boxes | undefined; skipRefused: boolean; plan: boolean; resume: boolean; stop: boolean }>

/** Throws USAGE where options of different modes are combined. */
function assertOneMode({ boxes, skipRefused, plan, resume, stop }: Input): void {
  if ([plan, resume, stop].filter(Boolean).length > 1) throw problem('USAGE', 'pass only one of --plan, --resume and --stop')
  if ((resume || stop) && (boxes || skipRefused)) throw problem('USAGE', '--boxes and --skip-refused apply only to a new rollback')
}

type NewRollback = Readonly<{ reason: string; boxes: Boxes; skipRefused: boolean }>

async function startRollback(context: Context, id: string, { reason, boxes, skipRefused }: NewRollback): Promise<Rollout> {
  const { api } = context
  if (boxes !== 'none') await confirmBoxRollback(context, id, { mode: boxes, skipRefused })
  else await assertConfirmedOf(context, `Roll back ${id}? Updated boxes stay updated.`, () => api.rollouts.getRollout({ params: { id } }))
  return api.rollouts.rollbackRollout({ params: { id }, body: { reason, boxes, skipRefused } })
}

async function stopRollback(context: Context, id: string, reason: string): Promise<Rollout> {
  const { api } = context
  const question = `Stop the rollback of ${id}? Pending boxes stay updated.`
  await assertConfirmedOf(context, question, () => api.rollouts.getRollout({ params: { id } }))
  return api.rollouts.stopRollback({ params: { id }, body: { reason } })
}

function planRollback({ api }: Context, id: string, mode: RollbackMode | undefined): Promise<RollbackPlan> {
  if (!mode) throw problem('USAGE', '--plan requires a mode of rollback. fix: pass --boxes images')
  return api.rollouts.planRollback({ params: { id }, body: { boxes: mode } })
}

/** A snapshot rollback loses data, so it requires the typed rollout id. */
async function confirmBoxRollback(
  context: Context,
  id: string,
  { mode, skipRefused }: Readonly<{ mode: RollbackMode; skipRefused: boolean }>,
): Promise<void> {
  const { ask, notify, yes } = context
  const plan = await planRollback(context, id, mode)
  notify((style) => `${rollbackPlanView(plan, style)}\n`)
  if (plan.refusals > 0 && !skipRefused)
    throw problem(
      'PLAN_REFUSED',
      `${plural(plan.refusals, 'box', 'boxes')} cannot be rolled back by ${mode}; nothing was changed. fix: skip them with --skip-refused`,
    )
  assertNoneActive(plan)
  const boxes = plural(plan.rollbacks, 'box', 'boxes')
  if (mode === 'images') return assertConfirmed(ask, `Roll back ${id} and ${boxes} to the previous images?`)
  if (yes) return
  const typed = await ask.text(`Type ${id} to restore ${boxes} from snapshots:`, 'pass --yes')
  if (typed.trim() !== id) throw problem('CANCELLED', `the id does not match ${id}; nothing was changed`)
}

/** Throws ROLLOUT_ACTIVE before the question: the daemon would refuse the rollback. */
function assertNoneActive({ activeRollouts = [] }: RollbackPlan): void {
  const [first] = activeRollouts
  if (!first) return
  const id = clean(first.rolloutId)
  throw problem(
    'ROLLOUT_ACTIVE',
    `${activeText(activeRollouts).join('; ')}; nothing was changed. fix: wait for its end (\`tenantry rollouts watch ${id}\`), or abort it (\`tenantry rollouts abort ${id}\`)`,
  )
}

/** Blocked boxes first; then boxes in order with their target and data loss; then the totals. */
function rollbackPlanView(plan: RollbackPlan, style: Style): string {
  const boxes = plan.boxes.filter(({ does }) => does === 'rollback')
  const refused = plan.boxes.filter(({ does }) => does === 'refuse')
  const { paint } = style
  return sections(
    refused.length > 0
      ? [paint.red(`Blocked (${refused.length}): no rollback by ${plan.mode}`), ...findingLines(refused, 'refuse')].join('\n')
      : '',
    activeView(plan, style),
    backView(plan),
    boxes.length > 0 ? table(style, plan.mode === 'images' ? rollbackColumns : [...rollbackColumns, ...lossColumns], boxes) : '',
    rollbackWarnings(boxes, style),
    rollbackTotals(plan, boxes, style),
  )
}

function backView({ boxes }: RollbackPlan): string {
  const back = boxes.filter(({ does }) => does === 'skip').map(({ tenantSlug }) => tenantSlug)
  return back.length === 0
    ? ''
    : `Already at the previous versions (${back.length}): ${back.slice(0, 20).join(', ')}${back.length > 20 ? ', …' : ''}`
}

const activeView = ({ activeRollouts = [] }: RollbackPlan, { paint }: Style): string =>
  activeRollouts.length === 0
    ? ''
    : [
        paint.red('Blocked by active rollouts: wait for their end, or abort them'),
        ...activeText(activeRollouts).map((line) => `  ${line}`),
      ].join('\n')

const rollbackColumns: readonly Column<PlannedRollback>[] = [
  { title: 'BOX', value: ({ tenantSlug }) => tenantSlug, priority: 1, minWidth: 12 },
  { title: 'HOST', value: ({ hostName }) => hostName, priority: 3, minWidth: 6 },
  { title: 'FROM → TO', value: ({ from, to }) => versionMoves(from, to), priority: 1, minWidth: 18 },
]

const lossColumns: readonly Column<PlannedRollback>[] = [
  { title: 'SNAPSHOT', value: ({ snapshotId }) => snapshotId?.slice(0, 8), priority: 3 },
  { title: 'LOSES DATA SINCE', value: ({ losesSince }) => losesSince && minute(losesSince), priority: 2, paint: () => 'red' },
  { title: 'LOSS', value: ({ losesMs }) => duration(losesMs), priority: 1, align: 'right', paint: () => 'red' },
]

const minute = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

function rollbackWarnings(boxes: readonly PlannedRollback[], { paint }: Style): string {
  const warned = boxes.filter(({ findings }) => findings.some(({ severity }) => severity === 'warn'))
  return warned.length === 0 ? '' : [paint.yellow(`Warnings (${warned.length})`), ...findingLines(warned, 'warn')].join('\n')
}

/** A running rollout continues while the plan is shown. */
const lateBoxes = 'Boxes whose update finishes later are rolled back too.'

function rollbackTotals(
  { mode, rollbacks, refusals, boxes: { length } }: RollbackPlan,
  boxes: readonly PlannedRollback[],
  { paint }: Style,
): string {
  if (rollbacks + refusals === 0)
    return length === 0 ? 'No box was updated; there is nothing to roll back.' : 'No other box is to be rolled back.'
  if (rollbacks === 0) return `No box can be rolled back by ${mode}.`
  const blocked = refusals > 0 ? `, ${refusals} blocked` : ''
  const counted = `${plural(rollbacks, 'box', 'boxes')} to roll back by ${mode}, in reverse order of the update${blocked}.`
  if (mode === 'images') return `${counted} No data is lost.\n${lateBoxes}`
  const [first = ''] = boxes.map(({ losesSince }) => losesSince ?? '').sort()
  const maxLossMs = Math.max(...boxes.map(({ losesMs }) => losesMs))
  const [earliest, atMost] = rollbacks === 1 ? ['', ''] : ['the earliest at ', 'at most ']
  const loss = `DATA LOSS: messages, files and accounts created since the update (${earliest}${minute(first)}), ${atMost}${duration(maxLossMs)}.`
  return `${counted}\n${paint.red(loss)}\nThe current data of each box is saved in a snapshot first. ${lateBoxes}`
}
