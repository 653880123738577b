import type { ManifestGates } from '../boxes/index.ts'
import { duration, elapsedMs, periodMs } from '../kit/index.ts'
import type { Gate, GateState, NoAnswer } from './gate.ts'
import type { RolloutKind } from './rollout.ts'

// Gates are asked once the boxes of a phase are baked, again and again over their time. One value outside the limits stops the rollout.
// Without a schema: the web console loads these alone.

/** The gates of a rollout. An emergency has none: metrics must not delay a fix. */
export const gatesOf = (kind: RolloutKind, { gates = {} }: Readonly<{ gates?: ManifestGates | undefined }>): Gate[] =>
  kind === 'emergency_cve'
    ? []
    : Object.entries(gates).map(([name, { query, atMost = null, atLeast = null, onNoAnswer = 'pause', for: text = '' }]) => {
        return { name, query, atMost, atLeast, forMs: periodMs(text) ?? 0, onNoAnswer }
      })

const unasked = { state: 'waiting', since: null, at: null, value: null, noAnswer: null, missed: 0 } as const

/** The gates before their first question in a phase. */
export const unaskedGates = (gates: readonly Gate[]): GateState[] => gates.map((gate) => ({ ...gate, ...unasked }))

/** The least time that the gates take: they are asked side by side. */
export const gatesMs = (gates: readonly Gate[]): number => Math.max(0, ...gates.map(({ forMs }) => forMs))

/** Prometheus may restart: after this number of questions without an answer, one after the other, it counts as away. */
const maxMissed = 3
const askAgainMs = 10_000
/** Questions over the time of a gate, unless they would follow each other faster. */
const questions = 20

export type GateAnswer = Readonly<{ value: string } | { noAnswer: NoAnswer }>

/** The gate after a question at that time. */
export function afterAnswer(gate: GateState, answer: GateAnswer, at: string): GateState {
  if ('noAnswer' in answer) {
    const missed = gate.missed + 1
    return { ...gate, ...answer, at, value: null, missed, state: missed < maxMissed ? gate.state : 'unanswered' }
  }
  const answered = { ...gate, ...answer, at, noAnswer: null, missed: 0 }
  if (!isWithin(gate, numberOf(answer.value))) return { ...answered, state: 'failed' }
  const since = gate.since ?? at
  return { ...answered, since, state: elapsedMs(since, at) >= gate.forMs ? 'passed' : 'holding' }
}

/** Numbers of Prometheus: `+Inf` is one, in JavaScript it is not. */
const numberOf = (value: string): number => Number(value.replace('Inf', 'Infinity'))

const isWithin = ({ atMost, atLeast }: Gate, value: number): boolean =>
  value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY)

/** True where the gate is to be asked now. */
export function isGateDue({ state, at, since, forMs, missed }: GateState, now: string): boolean {
  if (state !== 'waiting' && state !== 'holding') return false
  if (at === null) return true
  const spacingMs = missed > 0 || since === null ? askAgainMs : Math.max(askAgainMs, forMs / questions)
  return elapsedMs(at, now) >= spacingMs || (missed === 0 && since !== null && elapsedMs(since, now) >= forMs)
}

/** True where the rollout pauses for the gate. */
export const stopsRollout = ({ state, onNoAnswer }: GateState): boolean =>
  state === 'failed' || (state === 'unanswered' && onNoAnswer === 'pause')

/** True where the next phase may begin as far as the gate is concerned. */
export const letsPass = ({ state, onNoAnswer }: GateState): boolean =>
  state === 'passed' || (state === 'unanswered' && onNoAnswer === 'continue')

/** `at most 0.5 for 10 min` */
export const limitsText = ({ atMost, atLeast, forMs }: Gate): string =>
  [atLeast !== null && `at least ${atLeast}`, atMost !== null && `at most ${atMost}`].filter(Boolean).join(' and ') +
  (forMs > 0 ? ` for ${duration(forMs)}` : '')

/** `pauses without an answer` */
export const onNoAnswerText = ({ onNoAnswer }: Gate): string => `${onNoAnswer === 'pause' ? 'pauses' : 'continues'} without an answer`

/** Digits beyond these are noise; evidence has them all. */
export const valueText = (value: string): string => {
  const number = numberOf(value)
  return Number.isFinite(number) ? String(Number(number.toPrecision(4))) : value
}

/** The last answer: `0.2`, `no answer (UNREACHABLE: …)`. Null before the first question. A value that failed has all its digits: it may be just outside. */
export const answerText = ({ state, at, value, noAnswer }: GateState): string | null => {
  if (noAnswer) return `no answer (${noAnswer.code}: ${noAnswer.message})`
  if (at === null || value === null) return null
  return state === 'failed' ? value : valueText(value)
}

const stateWords = {
  waiting: '',
  holding: 'holding',
  passed: 'passed',
  failed: 'failed',
  unanswered: 'not answered',
} as const satisfies Record<GateState['state'], string>

/** `errors: 0.2 at 21:58:43 UTC, holding (at most 0.5 for 10 min)` */
export const gateText = (gate: GateState): string => {
  const answer = answerText(gate)
  if (answer === null) return `${gate.name}: ${limitsText(gate)}`
  const state = stateWords[gate.state]
  return `${gate.name}: ${answer} at ${gate.at?.slice(11, 19)} UTC${state && `, ${state}`} (${limitsText(gate)})`
}
