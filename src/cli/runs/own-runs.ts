import { problem } from '../../core/kit/index.ts'
import type { RunSummary } from '../../core/runs/index.ts'
import { type Context, command, count, namedAsOptions, text } from '../kit/index.ts'
import { asUser } from './as-user.ts'
import { advancedView, startedView, waitingView } from './runs.view.ts'
import { namedAsTyped, valuesOf } from './values.ts'

const actions = ['complete', 'approve', 'reject', 'submit', 'skip'] as const

export const start = command('start <board> [values...]', 'Start a run of a board, as a user of its tenant', {
  options: {
    space: text('--space <id>', 'space of the run, if the board names none'),
    key: text('--key <key>', 'makes it safe to repeat'),
  },
  run: async (context, { board: id, values = [], space, key }) => {
    const variables = valuesOf(values)
    const body = { variables, ...(space === undefined ? {} : { spaceId: space }), ...(key === undefined ? {} : { key }) }
    const options = await asUser(context)
    const send = () => namedAsTyped(variables, () => context.api.runs.startRun({ params: { id }, body }, options))
    return namedAsOptions({ spaceId: '--space', key: '--key' }, send)
  },
  view: startedView,
  asUser: true,
  examples: ['start brd_2x7e --space spc_4b2k', 'start brd_2x7e place="Main hall" people:=12 --key drill-1'],
})

export const advance = command('advance <run> <element> <action> [values...]', 'Complete, approve, reject, submit or skip an element', {
  options: { seq: count('--seq <seq>', 'refuse if the run is at another seq by now'), key: text('--key <key>', 'makes it safe to repeat') },
  run: async (context, { run: id, element: elementId, action: word, values = [], seq, key }) => {
    const action = actions.find((one) => one === word)
    if (!action) throw problem('USAGE', `${word} is not an action. fix: use one of ${actions.join(', ')}`)
    const data = valuesOf(values)
    const body = { elementId, action, ...(values.length === 0 ? {} : { data }), ...(seq === undefined ? {} : { expectedSeq: seq }) }
    const options = await asUser(context, key)
    const send = () => namedAsTyped(data, () => context.api.runs.advanceRun({ params: { id }, body }, options))
    return action === 'approve' ? approve(context, { id, elementId }, send) : send()
  },
  view: advancedView,
  asUser: true,
  examples: ['advance run_8x2m approve-it approve', 'advance run_8x2m alarm submit place="Main hall" people:=12'],
})

/** Sends an approval, and reads what is missing while the run waits for others: the answer itself does not name it. */
async function approve(context: Context, { id, elementId }: Readonly<{ id: string; elementId: string }>, send: () => Promise<RunSummary>) {
  const read = async () => context.api.runs.showRun({ params: { id } }, await asUser(context))
  const before = await read()
  const run = await send()
  if (!run.activeElementIds.includes(elementId)) return run
  const element = (await read()).open.find((one) => one.elementId === elementId)
  if (!element || element.requiredApprovals === null) return run
  const missing = Math.max(1, element.requiredApprovals - (element.approvals ?? 0))
  return { ...run, approval: { isRepeated: run.seq <= before.seq, missing } }
}

export const open = command('open <run>', 'Show what a run waits for, as a user of its tenant', {
  run: async (context, { run: id }) => context.api.runs.showRun({ params: { id } }, await asUser(context)),
  view: waitingView,
  asUser: true,
  reads: true,
  examples: ['open run_8x2m'],
})
