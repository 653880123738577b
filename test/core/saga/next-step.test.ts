import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldSaga, nextStep, type Saga, type SagaEntry, type SagaNext } from '../../../src/core/saga/index.ts'

type Step = 'a' | 'b' | 'c' | 'after' | 'revert-a' | 'revert-b' | 'stop'
type World = Readonly<{ lost?: Step; forbidden?: boolean; unsafe?: boolean; stopped?: boolean }>

const error = { code: 'CONFLICT', message: 'no' }
const saga: Saga<Step, World> = {
  name: 'example',
  steps: (['a', 'b', 'c'] as const).map((name) => ({ name, holds: (_, { lost }) => lost !== name })),
  finish: [{ name: 'after', maxTries: 5 }],
  compensation: [
    { name: 'revert-b', when: ({ begun }) => begun.has('b'), maxFailures: 3 },
    { name: 'revert-a', when: ({ begun }) => begun.has('a'), maxTries: 5 },
  ],
  quarantine: [{ name: 'stop', isComplete: ({ stopped = false }) => stopped, maxFailures: 6 }],
  guard: (_, { forbidden }) => (forbidden ? error : undefined),
  compensationGuard: (_, { unsafe }) => (unsafe ? { step: 'revert-b', error } : undefined),
}

/** `a` = begun, `a+` = done, `a!` = failed; one second each. */
const entries = (text: string): SagaEntry[] =>
  text
    .split(' ')
    .filter(Boolean)
    .flatMap((word, index): SagaEntry[] => {
      const step = word.replace(/[+!]$/, '')
      const at = { step, elapsedMs: index * 1_000 }
      const begun = { ...at, mark: 'intent' } as const
      if (word.endsWith('+')) return [begun, { ...at, mark: 'done' }]
      return word.endsWith('!') ? [begun, { ...at, mark: 'failed', data: { error } }] : [begun]
    })

const later = 3_600_000
const next = (text: string, world: World = {}, time = { elapsedMs: later, deadlineMs: null as number | null }): SagaNext<Step> =>
  nextStep(saga, entries(text), { world, time })

test.each<[string, SagaNext<Step>]>([
  ['', { do: 'a' }],
  ['a', { do: 'a' }],
  ['a+', { do: 'b' }],
  ['a+ b', { do: 'b' }],
  ['a+ b+', { do: 'c' }],
  ['a+ b+ c+', { do: 'after' }],
  ['a+ b+ c+ after!', { do: 'after' }],
  ['a+ b+ c+ after+', { done: 'committed' }],
  ['a+ b+ c+ after! after! after! after! after!', { done: 'unfinished' }],
  ['a!', { compensate: 'revert-a' }],
  ['a+ b!', { compensate: 'revert-b' }],
  ['a+ b! revert-b', { compensate: 'revert-b' }],
  ['a+ b! revert-b+', { compensate: 'revert-a' }],
  ['a+ b! revert-b!', { compensate: 'revert-b' }],
  ['a+ b! revert-b+ revert-a+', { done: 'rolled_back' }],
  ['a+ b! revert-b! revert-b! revert-b!', { compensate: 'stop' }],
  ['a! revert-a revert-a revert-a revert-a revert-a', { compensate: 'stop' }],
  ['a+ b+ a', { do: 'a' }],
  ['a+ b+ a+', { do: 'b' }],
])('after "%s" comes %j', (text, expected) => {
  expect(next(text)).toEqual(expected)
})

test('a done step that no longer holds runs again, and all after it; not once it is committed', () => {
  expect(next('a+ b+', { lost: 'a' })).toEqual({ do: 'a' })
  expect(next('a+ b+ a+', { lost: 'b' })).toEqual({ do: 'b' })
  expect(next('a+ b+ c+', { lost: 'a' })).toEqual({ do: 'after' })
})

test('results stay once the step that fixes them was begun', () => {
  const fixed = { ...saga, fixedFrom: 'b' as const }
  expect(nextStep(fixed, entries('a+ b+ a+'), { world: {}, time: { elapsedMs: later, deadlineMs: null } })).toEqual({ do: 'c' })
})

test('a step that never holds fails the saga', () => {
  expect(next('a+ '.repeat(20), { lost: 'a' })).toMatchObject({ fail: 'a', error: { code: 'CONFLICT' }, final: false })
  expect(next('a+ '.repeat(19), { lost: 'a' })).toEqual({ do: 'a' })
})

test('a passed deadline refuses a forward step and nothing else', () => {
  const late = { elapsedMs: later, deadlineMs: 1 }
  expect(next('a+', {}, late)).toMatchObject({ fail: 'b', error: { code: 'COMMAND_EXPIRED' } })
  expect(next('a+ b!', {}, late)).toEqual({ compensate: 'revert-b' })
  expect(next('a+ b+ c+', {}, late)).toEqual({ do: 'after' })
})

test('a guard refuses the next forward step; a compensation guard abandons the rollback', () => {
  expect(next('a+', { forbidden: true })).toEqual({ fail: 'b', error, final: false })
  expect(next('a+ b!', { unsafe: true })).toEqual({ fail: 'revert-b', error, final: true })
  expect(next('a+ b+ c+', { forbidden: true, unsafe: true })).toEqual({ do: 'after' })
})

test('an abandoned compensation is over once what is left is safe, or cannot be made safe', () => {
  const abandoned = 'a+ b! revert-b! revert-b! revert-b!'
  expect(next(abandoned, { stopped: true })).toEqual({ done: 'abandoned' })
  expect(next(`${abandoned} stop! stop! stop! stop! stop!`)).toEqual({ compensate: 'stop' })
  expect(next(`${abandoned} stop! stop! stop! stop! stop! stop!`)).toEqual({ done: 'abandoned' })
})

test('a retry waits longer after each failure', () => {
  const at = (elapsedMs: number) => ({ elapsedMs, deadlineMs: null })
  expect(next('a+ b!', {}, at(1_000))).toEqual({ compensate: 'revert-b' })
  expect(next('a+ b! revert-b!', {}, at(2_000))).toEqual({ wait: 3_000 })
  expect(next('a+ b! revert-b!', {}, at(3_000))).toEqual({ compensate: 'revert-b' })
  expect(next('a+ b! revert-b! revert-b!', {}, at(3_000))).toEqual({ wait: 7_000 })
  expect(next('a+ b+ c+ after! after! after! after!', {}, at(6_000))).toEqual({ wait: 66_000 })
})

test('notes change nothing', () => {
  const noted = [...entries('a+'), { step: 'a', mark: 'note', elapsedMs: 0, data: { error } } as const]
  expect({ ...foldSaga(saga, noted), entries: [] }).toEqual({ ...foldSaga(saga, entries('a+')), entries: [] })
})

/** A world in which each step sets its effect; a kill may come before or after any write of the journal. */
type Kill = 'none' | 'before the act' | 'after the act' | 'between write and next'
type Run = Readonly<{ outcome: string; effects: readonly string[]; log: readonly string[] }>

const simple: Saga<Step, World> = {
  name: 'simple',
  steps: saga.steps,
  finish: [{ name: 'after' }],
  compensation: [
    { name: 'revert-b', when: ({ begun }) => begun.has('b') },
    { name: 'revert-a', when: ({ begun }) => begun.has('a') },
  ],
}

function run(failsAt: Step | undefined, kills: readonly Kill[]): Run {
  const journal: SagaEntry[] = []
  const effects = new Set<string>()
  const log: string[] = []
  for (let round = 0; round < 300; round++) {
    const decided = nextStep(simple, journal, { world: {}, time: { elapsedMs: later, deadlineMs: null } })
    if ('done' in decided) return { outcome: decided.done, effects: [...effects].sort(), log }
    if ('wait' in decided || 'fail' in decided) throw new Error('nothing waits or is refused here')
    const step = 'do' in decided ? decided.do : decided.compensate
    const kill = kills[round] ?? 'none'
    journal.push({ step, mark: 'intent', elapsedMs: 0 })
    if (kill === 'before the act') continue
    if (step === failsAt) {
      if (kill === 'none') journal.push({ step, mark: 'failed', elapsedMs: 0, data: { error } })
      continue
    }
    if (step.startsWith('revert-')) effects.delete(step.slice('revert-'.length))
    else effects.add(step)
    if (kill === 'after the act') continue
    journal.push({ step, mark: 'done', elapsedMs: 0 })
    log.push(step)
  }
  throw new Error('it never ended')
}

describe('a kill before or after any write', () => {
  const kills = fc.array(fc.constantFrom<Kill>('none', 'before the act', 'after the act', 'between write and next'), { maxLength: 15 })
  const failing = fc.constantFrom<Step | undefined>(undefined, 'a', 'b', 'c')

  test('leads to the same outcome and the same effects', () => {
    fc.assert(
      fc.property(failing, kills, (failsAt, kill) => {
        const { outcome, effects } = run(failsAt, kill)
        const undisturbed = run(failsAt, [])
        expect({ outcome, effects }).toEqual({ outcome: undisturbed.outcome, effects: undisturbed.effects })
      }),
    )
  })

  test('never repeats a step that is done, nor compensates one twice', () => {
    fc.assert(
      fc.property(failing, kills, (failsAt, kill) => {
        const { log } = run(failsAt, kill)
        return new Set(log).size === log.length
      }),
    )
  })
})
