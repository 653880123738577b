import { problem } from '../kit/index.ts'
import { type BoardElement, boardLimits, boundRole, type ElementKind, type ElementOf, whenAt } from './definition.ts'
import type { Variables } from './expression.ts'
import { assertSize, bytesOf, readForm } from './form.ts'
import { type Board, hasEnded, type RunInput, type RunNames, type RunState, type RunStatus, type Stepped, type Token } from './run.ts'
import { close, closeAll, type Draft, deadline, edgeBy, fail, labelOf, walk } from './walk.ts'

/** `names`: the values of `{board}` and `{run}` in texts. */
type At = Readonly<{ board: Board; now: string; names?: RunNames }>
const noNames: RunNames = { board: '(none)', run: '(none)' }

/** Begins a run: it has passed everything up to the first elements that wait. `by`: the user who started it; null for a trigger. */
export function startRun(at: At, { by, variables }: Readonly<{ by: string | null; variables: Variables }>): Stepped {
  const { board, now } = at
  const { sla } = board.definition
  const dueAt = sla === null ? null : whenAt(sla, now)
  const nothing = { tokens: [], joins: {}, submitters: [], failure: null, pending: [], finishedAt: null }
  const run: RunState = {
    ...nothing,
    status: 'running',
    startedBy: by,
    startedAt: now,
    dueAt,
    variables,
    seq: 0,
    nextToken: 0,
    submittedBytes: 0,
  }
  return worked(at, run, (draft) => {
    if (dueAt !== null) draft.effects.push(...deadline(null, now, dueAt))
    walk(draft, edgeBy(draft, board.graph.start?.id ?? '', 'always'))
  })
}

/**
 * The run after one input, and what is to be done in the same transaction (spec 3.8). An input that changes nothing any more, such as a timer
 * of a token that is gone or a second approval of one person, returns the same run. Throws INVALID_TRANSITION, FORBIDDEN, VALIDATION or
 * PAYLOAD_TOO_LARGE; nothing has changed then.
 */
export function stepRun(at: At, run: RunState, input: RunInput): Stepped {
  if (input.type === 'timer') return timer(at, run, input)
  const isOver = hasEnded(run)
  if (input.type === 'cancel') {
    if (isOver) throw refusal(run, 'cancel')
    return worked(at, run, (draft) => {
      closeAll(draft)
      fail(draft, 'CANCELLED', { elementId: null, message: 'the run was cancelled' })
    })
  }
  if (input.type === 'retry') {
    if (isOver || run.status !== 'failed') throw refusal(run, 'retry')
    assertFewInputs(run)
    return worked(at, { ...run, failure: null, pending: [] }, (draft) => walk(draft, run.pending))
  }
  if (run.status === 'failed' || run.status === 'completed') throw refusal(run, input.type)
  assertFewInputs(run)
  return person(at, run, input)
}

const refusal = ({ status }: RunState, what: string) => problem('INVALID_TRANSITION', `The run is ${status}, so ${what} is not possible.`)

const maxInputs = boardLimits.inputsOfRun

/** A cancel is always possible. */
function assertFewInputs({ seq }: RunState): void {
  if (seq < maxInputs) return
  throw problem('INVALID_TRANSITION', `The run has had ${maxInputs} steps, which is the limit. fix: cancel the run and start a new one`)
}

type PersonInput = Exclude<RunInput, { type: 'timer' | 'cancel' | 'retry' }>

const kindFor: Readonly<Record<PersonInput['type'], readonly ElementKind[]>> = {
  complete: ['task'],
  submit: ['form'],
  approve: ['checkpoint'],
  reject: ['checkpoint'],
  skip: ['task', 'form'],
}

function person(at: At, run: RunState, input: PersonInput): Stepped {
  const { token, element } = activeElement(at, run, input)
  switch (input.type) {
    case 'complete':
      return worked(at, run, (draft) => leave(draft, token, 'done'))
    case 'skip':
      if (!(element as ElementOf<'task' | 'form'>).config.skippable)
        throw problem('INVALID_TRANSITION', `"${shownLabel(at, run, element)}" may not be skipped.`)
      return worked(at, run, (draft) => leave(draft, token, 'skipped'))
    case 'submit':
      return submit(at, run, { token, element: element as ElementOf<'form'>, by: input.by, values: input.values })
    case 'reject':
      assertNotSelf(at, run, { element: element as ElementOf<'checkpoint'>, by: input.by })
      return worked(at, run, (draft) => reject(draft, token))
    case 'approve':
      assertNotSelf(at, run, { element: element as ElementOf<'checkpoint'>, by: input.by })
      return approve(at, run, { token, element: element as ElementOf<'checkpoint'>, by: input.by, eligible: input.eligible })
  }
}

const fixFor = (kind: ElementKind): string => {
  const actions = Object.entries(kindFor).flatMap(([type, kinds]) => (kinds.includes(kind) && type !== 'skip' ? [type] : []))
  return actions.length > 0 ? ` fix: use ${actions.join(' or ')}` : ''
}

/** The label with its values: a caller has part in the run. */
const shownLabel = ({ names = noNames }: At, run: RunState, element: BoardElement): string => labelOf(element, { ...run, names })

function activeElement(at: At, run: RunState, input: PersonInput): { token: Token; element: BoardElement } {
  const { type, elementId } = input
  const tokenId = input.type === 'complete' ? input.tokenId : undefined
  const element = at.board.graph.elements.get(elementId)
  if (!element) throw problem('NOT_FOUND', `The board has no element ${elementId}.`)
  const token = run.tokens.find((one) => one.elementId === elementId && one.id === (tokenId ?? one.id))
  if (!token) throw problem('INVALID_TRANSITION', `The run does not wait at "${shownLabel(at, run, element)}".`)
  if (!kindFor[type].includes(element.kind)) {
    const what = `"${shownLabel(at, run, element)}" is a ${element.kind}`
    throw problem('INVALID_TRANSITION', `${what}, so ${type} is not possible.${fixFor(element.kind)}`)
  }
  return { token, element }
}

function assertNotSelf(at: At, run: RunState, { element, by }: Pick<Deciding, 'element' | 'by'>): void {
  if (!element.config.allowSelfApproval && (run.startedBy === by || run.submitters.includes(by)))
    throw problem('FORBIDDEN', `Who started the run or submitted a form in it cannot decide "${shownLabel(at, run, element)}".`)
}

type Deciding = Readonly<{ token: Token; element: ElementOf<'checkpoint'>; by: string; eligible: readonly string[] }>

function approve(at: At, run: RunState, { token, element, by, eligible }: Deciding): Stepped {
  const isRepeated = token.approvals.some(({ userId }) => userId === by)
  const approved: Token = isRepeated ? token : { ...token, approvals: [...token.approvals, { userId: by, at: at.now }] }
  const counted = approved.approvals.filter(({ userId }) => eligible.includes(userId)).length
  // An approval counts again once its user is active again: repeating it may be the only way on.
  if (isRepeated && counted < element.config.requiredApprovals) return { run, effects: [] }
  return worked(at, run, (draft) => {
    draft.tokens = draft.tokens.map((one) => (one.id === token.id ? approved : one))
    if (counted >= element.config.requiredApprovals) leave(draft, approved, 'approved')
  })
}

function reject(draft: Draft, token: Token): void {
  const edge = edgeBy(draft, token.elementId, 'rejected')
  close(draft, token, 'rejected')
  if (edge.length > 0) {
    walk(draft, edge)
    return
  }
  closeAll(draft)
  fail(draft, 'REJECTED', {
    elementId: token.elementId,
    message: `"${draft.board.graph.elements.get(token.elementId)?.label}" was rejected`,
  })
}

type Submitted = Readonly<{ token: Token; element: ElementOf<'form'>; by: string; values: unknown }>

function submit(at: At, run: RunState, { token, element, by, values }: Submitted): Stepped {
  const accepted = readForm(element.config.fields, values)
  const variables = { ...othersThan(at.board, element, run.variables), ...accepted }
  assertSize(variables)
  const submittedBytes = run.submittedBytes + bytesOf(accepted)
  assertFewBytes(submittedBytes)
  return worked(at, run, (draft) => {
    draft.variables = variables
    draft.submittedBytes = submittedBytes
    draft.submitters = [...new Set([...run.submitters, by])]
    leave(draft, token, 'done')
  })
}

/**
 * The variables without those that the form alone sets: a field that is left out this time keeps no earlier value. No condition counts on such
 * a value, since the field is optional wherever it is set.
 */
const othersThan = ({ shared }: Board, { config }: ElementOf<'form'>, variables: Variables): Variables => {
  const own = new Set(config.fields.flatMap(({ name }) => (shared.has(name) ? [] : [name])))
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !own.has(name)))
}

function assertFewBytes(bytes: number): void {
  const max = boardLimits.submittedBytes
  if (bytes <= max) return
  const why = `The forms of the run would take ${bytes} bytes, all submissions together; at most ${max} are possible.`
  throw problem('PAYLOAD_TOO_LARGE', `${why} fix: cancel the run and start a new one`)
}

const edgeFor = { done: 'always', skipped: 'always', approved: 'approved', timed_out: 'timed_out' } as const

function leave(draft: Draft, token: Token, outcome: keyof typeof edgeFor): void {
  const edges = edgeBy(draft, token.elementId, edgeFor[outcome])
  close(draft, token, outcome)
  walk(draft, edges)
}

const tooManyInputs = `the run has had ${maxInputs} steps; a loop of timers never ends`

function timer(at: At, run: RunState, { tokenId, name }: Extract<RunInput, { type: 'timer' }>): Stepped {
  if (run.status === 'failed' || run.status === 'completed') return { run, effects: [] }
  if (tokenId === null) return worked(at, run, (draft) => overdueRun(draft, name))
  const token = run.tokens.find(({ id }) => id === tokenId)
  if (!token) return { run, effects: [] }
  // It escalated at the end of the time of the run; its new owner may have begun.
  if (name === 'due' && token.escalated && !hasTimedOutEdge(at.board, token)) return { run, effects: [] }
  return worked(at, run, (draft) => {
    if (run.seq >= maxInputs) return fail(draft, 'TOO_MUCH_WORK', { elementId: token.elementId, message: tooManyInputs })
    if (name === 'elapsed') return leave(draft, token, 'done')
    if (name === 'warn') return void draft.effects.push({ type: 'sla_warning', elementId: token.elementId, dueAt: token.dueAt ?? at.now })
    if (hasTimedOutEdge(draft.board, token)) return leave(draft, token, 'timed_out')
    escalate(draft, token)
  })
}

const hasTimedOutEdge = ({ graph }: Board, { elementId }: Token): boolean =>
  graph.out(elementId).some(({ condition }) => condition.type === 'timed_out')

function overdueRun(draft: Draft, name: 'warn' | 'due' | 'elapsed'): void {
  if (name === 'warn') return void draft.effects.push({ type: 'sla_warning', elementId: null, dueAt: draft.dueAt ?? draft.now })
  draft.effects.push({ type: 'escalated', elementId: null, role: null })
  for (const token of draft.tokens) if (!token.escalated && escalationRoleOf(draft, token) !== undefined) escalate(draft, token)
}

function escalationRoleOf({ board: { graph, definition } }: Draft, { elementId }: Token): string | undefined {
  const { config } = graph.elements.get(elementId) as BoardElement
  return 'escalationRole' in config && config.escalationRole !== undefined ? boundRole(definition, config.escalationRole) : undefined
}

function escalate(draft: Draft, token: Token): void {
  const role = escalationRoleOf(draft, token) ?? null
  draft.tokens = draft.tokens.map((one) => (one.id === token.id ? { ...one, escalated: true } : one))
  draft.effects.push({ type: 'escalated', elementId: token.elementId, role })
}

/** Applies a change to a copy of the run, and derives its status from what is left. */
function worked({ board, now, names = noNames }: At, run: RunState, change: (draft: Draft) => void): Stepped {
  const draft: Draft = { ...run, effects: [], work: 0, now, board, names }
  change(draft)
  const { effects, work, now: _, board: __, names: ___, ...state } = draft
  if (!state.failure && state.tokens.length === 0 && Object.keys(state.joins).length > 0) {
    const [elementId] = Object.keys(state.joins) as [string]
    state.failure = { code: 'DEADLOCK', elementId, message: 'a join waits for a branch that never comes' }
  }
  state.status = statusOf(board, state)
  const isOver = state.status === 'completed' || state.status === 'failed'
  state.seq = run.seq + 1
  state.finishedAt = isOver ? now : null
  if (!isOver) return { run: state, effects, work }
  const cleared = state.tokens.length === 0 ? [{ type: 'timers_cleared', tokenId: null } as const] : []
  return { run: state, effects: [...effects, ...cleared, { type: 'ended', status: state.status as 'completed' | 'failed' }], work }
}

function statusOf({ graph }: Board, { failure, tokens }: Pick<RunState, 'failure' | 'tokens'>): RunStatus {
  if (failure) return 'failed'
  if (tokens.length === 0) return 'completed'
  return tokens.every(({ elementId }) => graph.elements.get(elementId)?.kind === 'timer') ? 'running' : 'waiting'
}
