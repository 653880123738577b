import { duration, plural } from '../../core/kit/index.ts'
import type { PlannedRollback, RollbackPlan } from '../../core/rollouts/index.ts'
import { versionMoves } from '../boxes/index.ts'
import { type Column, type Style, sections, table } from '../kit/index.ts'
import { findingLines } from './plan.view.ts'

/** Who cannot go back and why; then who goes when, to what, and what its users lose. */
export function undoPlanView(plan: RollbackPlan, style: Style): string {
  const back = plan.boxes.filter(({ does }) => does === 'undo')
  const refused = plan.boxes.filter(({ does }) => does === 'refuse')
  const { paint } = style
  return sections(
    refused.length > 0
      ? [paint.red(`Cannot go back by ${plan.mode} (${refused.length})`), ...findingLines(refused, 'refuse')].join('\n')
      : '',
    back.length > 0 ? table(style, plan.mode === 'images' ? columns : [...columns, ...lossColumns], back) : '',
    warnings(back, style),
    totals(plan, back, style),
  )
}

const columns: readonly Column<PlannedRollback>[] = [
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

function warnings(boxes: readonly PlannedRollback[], { paint }: Style): string {
  const warned = boxes.filter(({ findings }) => findings.some(({ severity }) => severity === 'warn'))
  return warned.length === 0 ? '' : [paint.yellow(`Warnings (${warned.length})`), ...findingLines(warned, 'warn')].join('\n')
}

/** A rollout that still runs does not wait for the answer. */
const meanwhile = 'A box whose update ends only after this goes back too.'

function totals({ mode, undoes, refusals }: RollbackPlan, back: readonly PlannedRollback[], { paint }: Style): string {
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
