import { z } from 'zod'
import { TimeInput } from '../contract/index.ts'
import { isProblem, problem } from '../kit/index.ts'
import { checkEdges, checkPaths, violationsOf } from './check-graph.ts'
import {
  type BoardDefinition,
  type BoardElement,
  BoardLocalId,
  Duration,
  type ElementKind,
  isWork,
  whenAt,
  workerRole,
} from './definition.ts'
import type { Variables } from './expression.ts'
import { error } from './finding.ts'
import { readStartVariables } from './form.ts'
import { graphOf } from './graph.ts'
import { activeOf, type Board, compileBoard, type RunEffect, type RunInput, type RunState, type Stepped, type Token } from './run.ts'
import { startRun, stepRun } from './step.ts'
import { runSteps, type Steps } from './steps.ts'
import { declaredVariables, variableFault } from './variables.ts'

// A run played in memory: answers of a script and timers, in the order of their times. Nothing is stored or sent.

const User = z.string().trim().min(1).max(100)

const Answer = z.strictObject({
  action: z
    .enum(['complete', 'approve', 'reject', 'submit', 'skip'])
    .optional()
    .meta({ description: 'Default: complete a task, submit a form, approve a checkpoint' }),
  by: User.optional().meta({
    description: 'Default: the user who started the run where the element is for that user, else another user for each answer',
  }),
  data: z.record(z.string(), z.unknown()).optional().meta({ description: 'The values of a form' }),
  after: Duration.default('PT0S').meta({ description: 'Time since the element opened' }),
})

export const SimulationScript = z.strictObject({
  startedBy: User.default('starter'),
  startAt: TimeInput.optional().meta({ description: 'Default: now' }),
  variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  answers: z
    .record(BoardLocalId, z.array(Answer).max(100))
    .default({})
    .meta({ description: 'By element; each answer is given once, in this order, also when a loop reaches the element again' }),
})
export type SimulationScript = z.infer<typeof SimulationScript>

const Effect = z.discriminatedUnion('type', [
  z.object({ type: z.literal('opened'), elementId: z.string(), role: z.string().nullable(), dueAt: z.string().nullable() }),
  z.object({ type: z.literal('closed'), elementId: z.string(), outcome: z.string() }),
  z.object({ type: z.literal('message'), elementId: z.string(), room: z.string(), body: z.string() }),
  z.object({
    ...{ type: z.literal('report'), elementId: z.string(), title: z.string(), markdown: z.string(), missing: z.array(z.string()) },
  }),
  z.object({ type: z.literal('sla_warning'), elementId: z.string().nullable(), dueAt: z.string() }),
  z.object({ type: z.literal('escalated'), elementId: z.string().nullable(), role: z.string().nullable() }),
  z.object({ type: z.literal('ended'), status: z.string() }),
])

const Step = z.object({
  at: z.string(),
  input: z.string().meta({ description: '`start`, an action of a user, or `warn`, `due` or `elapsed` of a timer' }),
  elementId: z.string().nullable(),
  by: z.string().nullable(),
  refused: z.object({ code: z.string(), message: z.string() }).nullable(),
  effects: z.array(Effect),
  activeElementIds: z.array(z.string()),
})
type Step = z.infer<typeof Step>

export const Simulation = z.object({
  outcome: z.enum(['completed', 'failed', 'waiting', 'stopped']).meta({
    description: '`waiting`: an element has no answer and no time; `stopped`: the simulation reached its limit',
  }),
  failure: z.object({ code: z.string(), elementId: z.string().nullable(), message: z.string() }).nullable(),
  startedAt: z.string(),
  endedAt: z.string(),
  steps: z.array(Step),
  waitsAt: z.array(z.string()).meta({ description: 'Elements that wait at the end' }),
  unused: z.array(z.string()).meta({ description: 'Elements with answers that were not given' }),
  variables: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})
export type Simulation = z.infer<typeof Simulation>

/** `work`: that of conditions in all steps, ten times that of one. */
const limits = { steps: 1_000, characters: 4_000_000, work: 1_000_000_000 }

/**
 * Plays a board from its start until it ends, waits or reaches the limit. A deadlock shows as a failed run. Throws BOARD_INVALID for a board
 * whose edges are wrong, VALIDATION for a script that names an element without work for a user.
 */
export const simulateBoard = (definition: BoardDefinition, script: SimulationScript, now: string): Simulation =>
  runSteps(simulateInSteps(definition, script, now))

/** The same with a pause after each step of the run. */
export function* simulateInSteps(definition: BoardDefinition, script: SimulationScript, now: string): Steps<Simulation> {
  assertPlayable(definition)
  const board = compileBoard(definition)
  assertAnswerable(board, script)
  const startedAt = script.startAt ?? now
  const play = new Play(board, script, startedAt)
  play.begin()
  for (let next = play.next(); next && !play.isAtLimit; next = play.next()) {
    yield
    play.step(next)
  }
  return play.result(startedAt)
}

function assertPlayable(definition: BoardDefinition): void {
  const graph = graphOf(definition)
  const edges = checkEdges(definition, graph)
  const tooMany = variableFault(declaredVariables(definition))
  const others = tooMany === undefined ? [] : [error('VARIABLE_LIMIT', null, tooMany)]
  const faults = edges.length > 0 ? edges : [...others, ...checkPaths(graph).filter(({ code }) => code === 'LOOP_WITHOUT_WAIT')]
  const [first] = faults
  if (!first) return
  throw problem('BOARD_INVALID', `The board cannot be played: ${first.message}. fix: check the board, which lists the faults`, {
    violations: violationsOf(faults),
  })
}

const actionOf: Partial<Record<ElementKind, NonNullable<SimulationScript['answers'][string][number]['action']>>> = {
  task: 'complete',
  form: 'submit',
  checkpoint: 'approve',
}

function assertAnswerable({ graph }: Board, { answers }: SimulationScript): void {
  const wrong = Object.keys(answers).filter((id) => actionOf[graph.elements.get(id)?.kind ?? 'start'] === undefined)
  if (wrong.length === 0) return
  const details = wrong.slice(0, 100).map((id) => ({ path: `answers.${id}`, reason: 'is not a task, form or checkpoint of the board' }))
  throw problem('VALIDATION', `${details[0]?.path}: ${details[0]?.reason}`, { details })
}

type Next = Readonly<{ at: string; input: RunInput; elementId: string | null }>
type Timer = Readonly<{ tokenId: string | null; name: Extract<RunInput, { type: 'timer' }>['name']; at: string }>

class Play {
  readonly #board: Board
  readonly #script: SimulationScript
  readonly #given = new Map<string, number>()
  readonly #steps: Step[] = []
  readonly #approvers: readonly string[]
  readonly #variables: Variables
  /** By token; null: those of the run. */
  readonly #timers = new Map<string | null, readonly Timer[]>()
  #run: RunState | undefined
  #now: string
  #characters = 0
  #work = 0

  constructor(board: Board, script: SimulationScript, now: string) {
    this.#board = board
    this.#script = script
    this.#now = now
    this.#variables = readStartVariables(board.definition, script.variables)
    this.#approvers = Object.entries(script.answers).flatMap(([id, answers]) => answers.map(({ by }, nth) => by ?? userOf(id, nth)))
  }

  get isAtLimit(): boolean {
    return this.#steps.length >= limits.steps || this.#characters > limits.characters || this.#work > limits.work
  }

  begin(): void {
    const { startedBy } = this.#script
    this.#record({ input: 'start', elementId: null, by: startedBy }, () =>
      startRun(this.#at(), { by: startedBy, variables: this.#variables }),
    )
  }

  /** The next answer or timer; an answer goes before a timer of the same time. */
  next(): Next | undefined {
    const run = this.#run
    if (!run || run.status === 'completed' || run.status === 'failed') return undefined
    const answer = earliest(run.tokens.flatMap((token) => this.#answerOf(token)))
    const timer = firstTimer([...this.#timers.values()].flat())
    return earliest([...(answer ? [answer] : []), ...(timer ? [this.#timerInput(timer, run)] : [])])
  }

  #answerOf({ elementId, since }: Token): Next[] {
    const nth = this.#given.get(elementId) ?? 0
    const answer = this.#script.answers[elementId]?.[nth]
    if (!answer) return []
    const element = this.#board.graph.elements.get(elementId) as BoardElement
    const type = answer.action ?? (actionOf[element.kind] as NonNullable<typeof answer.action>)
    const isOfStarter = isWork(element) && workerRole(this.#board.definition, element.config) === null
    const by = answer.by ?? (isOfStarter ? this.#script.startedBy : userOf(elementId, nth))
    const more = { submit: { values: answer.data ?? {} }, approve: { eligible: this.#approvers } }[type as 'submit'] ?? {}
    return [{ at: later(whenAt(answer.after, since), this.#now), elementId, input: { type, elementId, by, ...more } as RunInput }]
  }

  #timerInput({ tokenId, name, at }: Timer, { tokens }: RunState): Next {
    const elementId = tokens.find(({ id }) => id === tokenId)?.elementId ?? null
    return { at: later(at, this.#now), elementId, input: { type: 'timer', tokenId, name } }
  }

  step({ at, input, elementId }: Next): void {
    this.#now = at
    if (input.type === 'timer') {
      const { tokenId } = input
      this.#timers.set(
        tokenId,
        this.#timersOf(tokenId).filter(({ name }) => name !== input.name),
      )
    } else if (elementId !== null) this.#given.set(elementId, (this.#given.get(elementId) ?? 0) + 1)
    const shown = { input: input.type === 'timer' ? input.name : input.type, elementId, by: 'by' in input ? input.by : null }
    this.#record(shown, () => stepRun(this.#at(), this.#run as RunState, input))
  }

  #at() {
    return { board: this.#board, now: this.#now, names: { board: '(board)', run: '(simulated)' } }
  }

  #record(shown: Pick<Step, 'input' | 'elementId' | 'by'>, work: () => Stepped): void {
    const { effects, refused } = this.#apply(work)
    const visible = effects.flatMap(effectView)
    const activeElementIds = this.#run ? activeOf(this.#board, this.#run).elementIds : []
    const step = { at: this.#now, ...shown, refused, effects: visible, activeElementIds }
    this.#characters += JSON.stringify(step).length
    this.#steps.push(step)
  }

  #apply(work: () => Stepped): { effects: readonly RunEffect[]; refused: Step['refused'] } {
    try {
      const { run, effects, work: spent = 0 } = work()
      this.#work += spent
      this.#run = run
      for (const effect of effects) this.#keepTimers(effect)
      return { effects, refused: null }
    } catch (error) {
      if (!isProblem(error)) throw error
      return { effects: [], refused: { code: error.code, message: error.message } }
    }
  }

  #keepTimers(effect: RunEffect): void {
    if (effect.type === 'timers_cleared') this.#timers.delete(effect.tokenId)
    if (effect.type === 'timer_set') this.#timers.set(effect.tokenId, [...this.#timersOf(effect.tokenId), effect])
  }

  readonly #timersOf = (tokenId: string | null): readonly Timer[] => this.#timers.get(tokenId) ?? []

  result(startedAt: string): Simulation {
    const run = this.#run as RunState
    const isOver = run.status === 'completed' || run.status === 'failed'
    return {
      outcome: isOver ? (run.status as 'completed' | 'failed') : this.next() ? 'stopped' : 'waiting',
      failure: run.failure,
      startedAt,
      endedAt: this.#now,
      steps: this.#steps,
      waitsAt: activeOf(this.#board, run).elementIds,
      unused: Object.entries(this.#script.answers).flatMap(([id, { length }]) => (length > (this.#given.get(id) ?? 0) ? [id] : [])),
      variables: { ...run.variables },
    }
  }
}

const userOf = (elementId: string, nth: number): string => `${elementId}-${nth + 1}`

/** The first of those with the earliest time. */
const earliest = <Timed extends Readonly<{ at: string }>>(all: readonly Timed[]): Timed | undefined =>
  all.reduce<Timed | undefined>((first, one) => (first && first.at <= one.at ? first : one), undefined)

/** The timer that a daemon fires first: at the same time `warn` before `elapsed` before `due`. */
const firstTimer = (timers: readonly Timer[]): Timer | undefined =>
  earliest(timers.toSorted((a, b) => (a.name === b.name ? 0 : a.name < b.name ? 1 : -1)))

const later = (a: string, b: string): string => (a > b ? a : b)

function effectView(effect: RunEffect): Step['effects'] {
  switch (effect.type) {
    case 'opened':
      return [{ type: 'opened', elementId: effect.token.elementId, role: effect.role, dueAt: effect.token.dueAt }]
    case 'closed':
      return [{ type: 'closed', elementId: effect.token.elementId, outcome: effect.outcome }]
    case 'message':
      return [{ type: 'message', elementId: effect.elementId, room: effect.room, body: effect.body }]
    case 'report': {
      const { elementId, title, markdown, missing } = effect
      return [{ type: 'report', elementId, title, markdown, missing: [...missing] }]
    }
    case 'timer_set':
    case 'timers_cleared':
      return []
    default:
      return [effect]
  }
}
