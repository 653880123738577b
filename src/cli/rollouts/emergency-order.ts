import { duration, plural, problem } from '../../core/kit/index.ts'
import type { EmergencyTargets, PlannedBox, RolloutPlan } from '../../core/rollouts/index.ts'
import { type Column, type Context, clean, fields, type Style, sections, table, text } from '../kit/index.ts'

import { imagesView, refusals, warnings } from './plan.ts'

/** What an emergency is, as options: whoever gives them all is asked nothing. */
export const orderOptions = {
  cve: text('--cve <id>', 'the hole, such as CVE-2026-12345'),
  reason: text('--reason <text>', 'what is being done through it; it stands in the audit log'),
  toChatServer: text('--to-chat-server <version>', 'Synapse'),
  toDatabase: text('--to-database <version>', 'PostgreSQL, within its major version'),
  toObjectStore: text('--to-object-store <release>', 'MinIO'),
  toMigrationsHead: text('--to-migrations-head <head>', 'head of the box migrations'),
  triggeredBy: text('--triggered-by <who>', 'who decided it'),
}

type TargetName = keyof EmergencyTargets

const targetWords = {
  toChatServer: { flag: '--to-chat-server', component: 'synapse', name: 'Synapse (chat server)' },
  toDatabase: { flag: '--to-database', component: 'postgres', name: 'PostgreSQL (database)' },
  toObjectStore: { flag: '--to-object-store', component: 'minio', name: 'MinIO (object store)' },
  toMigrationsHead: { flag: '--to-migrations-head', component: 'migrationsHead', name: 'Box migrations' },
} as const satisfies Record<TargetName, object>

const targetNames = Object.keys(targetWords) as TargetName[]

type Given = Readonly<Partial<Record<keyof typeof orderOptions, string | undefined>>>
export type Order = Readonly<{ cveId: string; reason: string; triggeredBy: string; targets: EmergencyTargets }>

/** Asks for what was not given, step by step, and again for what cannot be right. Nothing is sent yet but the question what the fleet runs. */
export async function askOrder(context: Context, given: Given): Promise<Order> {
  const { ask } = context
  const { cveIdIn, minReasonLength } = await import('../../core/rollouts/index.ts')
  const cveId = cveIdIn(
    await settled(given.cve, (again) => ask.text(`${again}Which CVE (such as CVE-2026-12345)`, 'give --cve'), isCve(cveIdIn)),
  )
  const told = (reason: string) => (cveIdIn(reason) === undefined ? `${cveId}: ${reason}` : reason)
  const reason = await settled(
    given.reason && told(given.reason),
    async (again) => told(await ask.text(`${again}What is being done through it, in a sentence`, 'give --reason')),
    (whole) => {
      if (cveIdIn(whole) !== cveId) return `the reason names another CVE than ${cveId}`
      return whole.length < minReasonLength ? `the reason needs at least ${minReasonLength} characters` : undefined
    },
  )
  const targets = await askTargets(context, given)
  const triggeredBy = given.triggeredBy ?? (await ask.text('Who decided it', 'give --triggered-by'))
  return { cveId: cveId as string, reason, triggeredBy, targets }
}

const isCve = (cveIdIn: (text: string) => string | undefined) => (typed: string) =>
  cveIdIn(typed) === undefined ? 'a CVE id looks like CVE-2026-12345' : undefined

/** What was given must be right; what a person types may be typed again. */
async function settled(
  given: string | undefined,
  asked: (again: string) => Promise<string>,
  wrong: (answer: string) => string | undefined,
): Promise<string> {
  if (given !== undefined) {
    const why = wrong(given)
    if (why !== undefined) throw problem('USAGE', why)
    return given
  }
  for (let again = ''; ; ) {
    const answer = await asked(again)
    const why = wrong(answer)
    if (why === undefined) return answer
    again = `No: ${why}. `
  }
}

/** Given ones are taken as they are: the daemon looks at them before anything is made. */
async function askTargets(context: Context, given: Given): Promise<EmergencyTargets> {
  const named = targetNames.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]))
  if (named.length > 0) return Object.fromEntries(named)
  const { ask, api } = context
  const flags = targetNames.map((name) => targetWords[name].flag).join(', ')
  if (!ask.interactive) throw problem('USAGE', `say what the fleet is to be brought to: at least one of ${flags}`)
  const { EmergencyTargets } = await import('../../core/rollouts/index.ts')
  const now = await api.rollouts.planRollout({ body: {} })
  for (let again = ''; ; again = 'No: name at least one version. ') {
    const targets: Partial<Record<TargetName, string>> = {}
    for (const name of targetNames) {
      const message = `${name === 'toChatServer' ? again : ''}${targetWords[name].name}; ${runningNow(now, name)}. New version, or nothing to leave it`
      const answer = await settled(
        undefined,
        async (again) => (await ask.optionalText(`${again}${message}`, `give ${targetWords[name].flag}`)).trim(),
        (typed) => (typed === '' ? undefined : EmergencyTargets.shape[name].safeParse(typed).error?.issues[0]?.message),
      )
      if (answer !== '') targets[name] = answer
    }
    if (Object.keys(targets).length > 0) return targets
  }
}

const mostVersions = 4

/** `runs 1.157.1 (12 boxes), 1.150.0 (2)`: those that most boxes run first. */
function runningNow({ boxes }: Pick<RolloutPlan, 'boxes'>, name: TargetName): string {
  const counts = new Map<string, number>()
  for (const { from } of boxes) {
    const version = from[targetWords[name].component]
    counts.set(version, (counts.get(version) ?? 0) + 1)
  }
  const sorted = [...counts].toSorted(([a, some], [b, others]) => others - some || (a < b ? -1 : 1))
  const shown = sorted.slice(0, mostVersions).map(([version, many], at) => `${clean(version)} (${many}${at === 0 ? ' boxes' : ''})`)
  if (shown.length === 0) return 'no box runs it'
  return `runs ${shown.join(', ')}${sorted.length > mostVersions ? ', …' : ''}`
}

type PhaseRow = Readonly<{ phase: string; boxes: readonly PlannedBox[]; expectedMs: number }>

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
    table(style, phaseColumns, phases),
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
  ({ boxes }: PhaseRow) =>
    boxes.filter((box) => box.does === does).length
const longest = (boxes: readonly PlannedBox[], of: 'expectedFenceMs' | 'worstFenceMs') => {
  const moving = boxes.filter(({ does }) => does === 'update')
  return moving.length === 0 ? undefined : duration(Math.max(...moving.map((box) => box[of])))
}

const phaseColumns: readonly Column<PhaseRow>[] = [
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
