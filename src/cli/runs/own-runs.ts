import { problem } from '../../core/kit/index.ts'
import { bearerOf, type Context, command, count, tenantUser, text } from '../kit/index.ts'
import { ownRunView, waitingView } from './runs.view.ts'

const actions = ['complete', 'approve', 'reject', 'submit', 'skip'] as const

/** The header of the logged-in user, and the key that makes a request safe to repeat. */
const asUser = async (context: Context, key?: string) => ({
  headers: { ...bearerOf(await tenantUser(context)), ...(key === undefined ? {} : { 'idempotency-key': key }) },
})

export const start = command('start <board> [values...]', 'Start a run of a board, as a user of its tenant', {
  options: {
    space: text('--space <id>', 'space of the run, if the board names none'),
    key: text('--key <key>', 'makes it safe to repeat'),
  },
  run: async (context, { board: id, values = [], space, key }) => {
    const body = { variables: valuesOf(values), ...(space === undefined ? {} : { spaceId: space }), ...(key === undefined ? {} : { key }) }
    return context.api.runs.startRun({ params: { id }, body }, await asUser(context))
  },
  view: ownRunView,
  asUser: true,
  examples: ['start brd_2x7e --space spc_4b2k', 'start brd_2x7e place="Main hall" people:=12 --key drill-1'],
})

export const advance = command('advance <run> <element> <action> [values...]', 'Complete, approve, reject, submit or skip an element', {
  options: { seq: count('--seq <count>', 'refuse if the run has other steps by now'), key: text('--key <key>', 'makes it safe to repeat') },
  run: async (context, { run: id, element: elementId, action: word, values, seq, key }) => {
    const action = actions.find((one) => one === word)
    if (!action) throw problem('USAGE', `${word} is not an action. fix: use one of ${actions.join(', ')}`)
    const data = values === undefined || values.length === 0 ? {} : { data: valuesOf(values) }
    const body = { elementId, action, ...data, ...(seq === undefined ? {} : { expectedSeq: seq }) }
    return context.api.runs.advanceRun({ params: { id }, body }, await asUser(context, key))
  },
  view: ownRunView,
  asUser: true,
  examples: ['advance run_8x2m approve-it approve', 'advance run_8x2m alarm submit place="Main hall" people:=12'],
})

export const open = command('open <run>', 'Show what a run waits for, as a user of its tenant', {
  run: async (context, { run: id }) => context.api.runs.showRun({ params: { id } }, await asUser(context)),
  view: waitingView,
  asUser: true,
  examples: ['open run_8x2m'],
})

/** `name=value` is a text, `name:=value` a number, true or false. Throws USAGE. */
function valuesOf(input: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    input.map((one) => {
      const [, name, colon, value = ''] = /^([A-Za-z][A-Za-z0-9_]*)(:?)=(.*)$/s.exec(one) ?? []
      if (name === undefined) throw problem('USAGE', `"${one}" is not a value. fix: write name=text, or name:=12 for a number`)
      return [name, colon === ':' ? plainValue(name, value) : value]
    }),
  )
}

function plainValue(name: string, value: string): number | boolean {
  if (value === 'true' || value === 'false') return value === 'true'
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number))
    throw problem('USAGE', `${name}:=${value} is not a number, true or false. fix: write ${name}=${value} for a text`)
  return number
}
