import { duration, plural } from '../../core/kit/index.ts'
import type { PlannedBox, RolloutPlan } from '../../core/rollouts/index.ts'
import { type Column, clean, fields, type Style, sections, table } from '../kit/index.ts'
import { type Order, targetWords } from './emergency-order.ts'
import { imagesView, refusals, warnings } from './plan.view.ts'

type Phase = Readonly<{ phase: string; boxes: readonly PlannedBox[]; expectedMs: number }>

/** Whom it reaches, for how long, and what it would pause: all that is to be known before it is sent. */
export function blastRadius(order: Order, plan: RolloutPlan, style: Style): string {
  const moving = plan.boxes.filter(({ does }) => does === 'update')
  const phases = plan.phases.map(({ phase, expectedMs }) => ({
    phase,
    expectedMs,
    boxes: plan.boxes.filter((box) => box.phase === phase),
  }))
  return sections(
    fields(style, [
      ['emergency', style.paint.bold(order.cveId)],
      ['reason', clean(order.reason)],
      ['decided by', clean(order.triggeredBy)],
      ['brings', targetsText(order)],
      ['manifest', `revision ${plan.manifestRevision}, for all tiers`],
      ['pauses', plan.pauses?.join(', ') || 'no staged rollout: none runs'],
      ['leaves', plan.stopsUndosOf?.length ? `boxes of ${plan.stopsUndosOf.join(', ')} as they are that were to be brought back` : null],
    ]),
    table(style, columns, phases),
    refusals(plan, style),
    imagesView(plan, style),
    warnings(moving, style),
    totals(plan, moving, style),
  )
}

const targetsText = ({ targets }: Order): string =>
  Object.entries(targets)
    .map(([name, version]) => `${targetWords[name as keyof typeof targetWords].name} ${clean(version)}`)
    .join(', ')

const count =
  (does: PlannedBox['does']) =>
  ({ boxes }: Phase) =>
    boxes.filter((box) => box.does === does).length
const longest = (boxes: readonly PlannedBox[], of: 'expectedFenceMs' | 'worstFenceMs') => {
  const moving = boxes.filter(({ does }) => does === 'update')
  return moving.length === 0 ? undefined : duration(Math.max(...moving.map((box) => box[of])))
}

const columns: readonly Column<Phase>[] = [
  { title: 'PHASE', value: ({ phase }) => phase, priority: 1 },
  { title: 'MOVE', value: count('update'), priority: 1, align: 'right' },
  { title: 'AT TARGET', value: count('skip'), priority: 3, align: 'right' },
  { title: 'REFUSED', value: count('refuse'), priority: 1, align: 'right' },
  {
    title: 'ABOUT',
    value: (phase) => (count('update')(phase) === 0 ? undefined : duration(phase.expectedMs)),
    priority: 2,
    align: 'right',
  },
  { title: 'LONGEST FENCE', value: ({ boxes }) => longest(boxes, 'expectedFenceMs'), priority: 1, align: 'right' },
]

function totals({ updates, parallel, expectedMs }: RolloutPlan, moving: readonly PlannedBox[], { paint }: Style): string {
  if (updates === 0) return paint.yellow('No box would move: all of them run these versions or are refused.')
  return (
    `${plural(updates, 'box', 'boxes')} to move in this order, ${parallel} at a time, about ${duration(expectedMs)} if nothing fails; ` +
    `no chat is away for longer than ${longest(moving, 'worstFenceMs')}. There is no canary, and maintenance windows do not hold it.`
  )
}
