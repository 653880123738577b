import { duration, plural, problem } from '../../core/kit/index.ts'
import { type EmergencyTargets, leftOutBoxes, type PlannedBox, type RolloutPlan } from '../../core/rollouts/index.ts'
import { type Column, type Context, clean, fields, type Style, sections, table, text } from '../kit/index.ts'

import { imagesView, refusals, warnings } from './plan.ts'

/** The emergency as options; missing ones are prompted for. */
export const orderOptions = {
  cve: text('--cve <id>', 'CVE id, such as CVE-2026-12345'),
  reason: text('--reason <text>', 'how it is exploited, for the audit log'),
  toChatServer: text('--to-chat-server <version>', 'target Synapse version'),
  toDatabase: text('--to-database <version>', 'target PostgreSQL version, same major'),
  toObjectStore: text('--to-object-store <release>', 'target MinIO release'),
  toMigrationsHead: text('--to-migrations-head <head>', 'target head of the box migrations'),
  triggeredBy: text('--triggered-by <name>', 'person who decided'),
}

type TargetName = keyof EmergencyTargets

const targetWords = {
  toChatServer: { flag: '--to-chat-server', component: 'synapse', name: 'Synapse (chat server)' },
  toDatabase: { flag: '--to-database', component: 'postgres', name: 'PostgreSQL (database)' },
  toObjectStore: { flag: '--to-object-store', component: 'minio', name: 'MinIO (object store)' },
  toMigrationsHead: { flag: '--to-migrations-head', component: 'migrationsHead', name: 'Box migrations' },
} as const satisfies Record<TargetName, object>

const targetNames = Object.keys(targetWords) as TargetName[]

type Input = Readonly<Partial<Record<keyof typeof orderOptions, string | undefined>>>
export type Order = Readonly<{ cveId: string; reason: string; triggeredBy: string; targets: EmergencyTargets }>

/** Prompts for missing values until they are valid. Sends nothing but a plan request, to show what the fleet runs. */
export async function promptOrder(context: Context, input: Input): Promise<Order> {
  const { ask } = context
  const { cveIdIn, minReasonLength } = await import('../../core/rollouts/index.ts')
  const cveId = cveIdIn(
    await validated(input.cve, (prefix) => ask.text(`${prefix}CVE id (such as CVE-2026-12345)`, 'pass --cve'), isCve(cveIdIn)),
  )
  const withCve = (reason: string) => (cveIdIn(reason) === undefined ? `${cveId}: ${reason}` : reason)
  const reason = await validated(
    input.reason && withCve(input.reason),
    async (prefix) => withCve(await ask.text(`${prefix}How is it exploited (one sentence)`, 'pass --reason')),
    (whole) => {
      if (cveIdIn(whole) !== cveId) return `the reason names a CVE other than ${cveId}`
      return whole.length < minReasonLength ? `the reason needs at least ${minReasonLength} characters` : undefined
    },
  )
  const targets = await promptTargets(context, input)
  const triggeredBy = input.triggeredBy ?? (await ask.text('Decided by', 'pass --triggered-by'))
  return { cveId: cveId as string, reason, triggeredBy, targets }
}

const isCve = (cveIdIn: (text: string) => string | undefined) => (typed: string) =>
  cveIdIn(typed) === undefined ? 'invalid CVE id; expected one such as CVE-2026-12345' : undefined

/** An option must be valid; a prompted answer may be repeated. `reasonAgainst` returns why a value is invalid. */
async function validated(
  option: string | undefined,
  prompt: (prefix: string) => Promise<string>,
  reasonAgainst: (value: string) => string | undefined,
): Promise<string> {
  if (option !== undefined) {
    const reason = reasonAgainst(option)
    if (reason !== undefined) throw problem('USAGE', reason)
    return option
  }
  for (let prefix = ''; ; ) {
    const answer = await prompt(prefix)
    const reason = reasonAgainst(answer)
    if (reason === undefined) return answer
    prefix = `Invalid: ${reason}. `
  }
}

/** Options are shown as the daemon stores them; it validates them before it creates anything. */
async function promptTargets(context: Context, input: Input): Promise<EmergencyTargets> {
  const { EmergencyTargets } = await import('../../core/rollouts/index.ts')
  const storedAs = (name: TargetName, typed: string) => EmergencyTargets.shape[name].safeParse(typed).data ?? typed
  const named = targetNames.flatMap((name) => (input[name] === undefined ? [] : [[name, storedAs(name, input[name])]]))
  if (named.length > 0) return Object.fromEntries(named)
  const { ask, api } = context
  const flags = targetNames.map((name) => targetWords[name].flag).join(', ')
  if (!ask.interactive) throw problem('USAGE', `no target version; pass at least one of ${flags}`)
  const now = await api.rollouts.planRollout({ body: {} })
  for (let prefix = ''; ; prefix = 'Invalid: enter at least one version. ') {
    const targets: Partial<Record<TargetName, string>> = {}
    for (const name of targetNames) {
      const message = `${name === 'toChatServer' ? prefix : ''}${targetWords[name].name}; ${runningNow(now, name)}. New version (empty: unchanged)`
      const answer = await validated(
        undefined,
        async (prefix) => (await ask.optionalText(`${prefix}${message}`, `pass ${targetWords[name].flag}`)).trim(),
        (typed) => (typed === '' ? undefined : EmergencyTargets.shape[name].safeParse(typed).error?.issues[0]?.message),
      )
      if (answer !== '') targets[name] = storedAs(name, answer)
    }
    if (Object.keys(targets).length > 0) return targets
  }
}

const maxVersions = 4

/** `runs 1.157.1 (12 boxes), 1.150.0 (2)`, the most frequent version first. */
function runningNow({ boxes }: Pick<RolloutPlan, 'boxes'>, name: TargetName): string {
  const counts = new Map<string, number>()
  for (const { from } of boxes) {
    const version = from[targetWords[name].component]
    counts.set(version, (counts.get(version) ?? 0) + 1)
  }
  const sorted = [...counts].toSorted(([a, some], [b, others]) => others - some || (a < b ? -1 : 1))
  const shown = sorted.slice(0, maxVersions).map(([version, many], at) => `${clean(version)} (${many}${at === 0 ? ' boxes' : ''})`)
  if (shown.length === 0) return 'not running'
  return `runs ${shown.join(', ')}${sorted.length > maxVersions ? ', …' : ''}`
}

type PhaseRow = Readonly<{ phase: string; boxes: readonly PlannedBox[]; expectedMs: number }>

/** The boxes affected, their downtime and the rollouts it pauses, before anything is sent. */
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
      ['targets', targetsText(order)],
      ['manifest', `revision ${plan.manifestRevision}, for all tiers`],
      ['pauses', plan.pauses?.join(', ') || 'no staged rollout is running'],
      [
        'stops',
        plan.stopsRollbacksOf?.length ? `rollbacks of ${plan.stopsRollbacksOf.join(', ')}; their pending boxes stay as they are` : null,
      ],
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
const maxOf = (boxes: readonly PlannedBox[], of: 'expectedFenceMs' | 'worstFenceMs') => {
  const moving = boxes.filter(({ does }) => does === 'update')
  return moving.length === 0 ? undefined : duration(Math.max(...moving.map((box) => box[of])))
}

const phaseColumns: readonly Column<PhaseRow>[] = [
  { title: 'PHASE', value: ({ phase }) => phase, priority: 1 },
  { title: 'UPDATE', value: count('update'), priority: 1, align: 'right' },
  { title: 'UP TO DATE', value: count('skip'), priority: 3, align: 'right' },
  { title: 'BLOCKED', value: count('refuse'), priority: 1, align: 'right' },
  {
    title: 'DURATION',
    value: (phase) => (count('update')(phase) === 0 ? undefined : duration(phase.expectedMs)),
    priority: 2,
    align: 'right',
  },
  { title: 'DOWNTIME', value: ({ boxes }) => maxOf(boxes, 'expectedFenceMs'), priority: 1, align: 'right' },
]

/** Says of each box why it is not updated. */
function nothingText(plan: RolloutPlan): string {
  const leftOut = leftOutBoxes(plan.boxes)
  const upToDate = plural(plan.boxes.length - leftOut.length, 'box', 'boxes')
  return `Nothing to update: ${upToDate} up to date${leftOut.length === 0 ? '' : `; left out: ${leftOut.map(clean).join('; ')}`}.`
}

function totals(plan: RolloutPlan, moving: readonly PlannedBox[], { paint }: Style): string {
  const { updates, parallel, expectedMs } = plan
  if (updates === 0) return paint.yellow(nothingText(plan))
  return (
    `${plural(updates, 'box', 'boxes')} to update in this order, ${parallel} at a time. Expected duration: ${duration(expectedMs)}; ` +
    `max downtime per box: ${maxOf(moving, 'worstFenceMs')}. No canary phase; maintenance windows are ignored.`
  )
}
