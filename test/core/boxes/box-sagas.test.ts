import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drillSaga, handOverSaga, takeBackSaga, takeOverSaga } from '../../../src/core/boxes/index.ts'
import { foldSaga, isCommitted, nextStep, type Saga, type SagaEntry } from '../../../src/core/saga/index.ts'

const sagas = { handOverSaga, takeOverSaga, takeBackSaga, drillSaga } as unknown as Record<string, Saga<string, unknown>>
const error = { code: 'CONFLICT', message: 'no' }
const world = { fenced: true, quiet: true }
const namesOf = (steps: readonly { name: string }[]): string[] => steps.map(({ name }) => name)

/** Runs a saga by its own decisions; `fates` sets per step: done, failed or interrupted by a kill. */
function play(saga: Saga<string, unknown>, fates: readonly ('done' | 'failed' | 'killed')[]) {
  const written: SagaEntry[] = []
  const begun: string[] = []
  for (let round = 0; round < 200; round++) {
    const next = nextStep(saga, written, { world, time: { elapsedMs: 3_600_000, deadlineMs: null } })
    if ('done' in next) return { written, begun, outcome: next.done }
    if ('wait' in next) throw new Error('waits for a pause that is over')
    if ('fail' in next) {
      written.push({ step: next.fail, mark: 'failed', elapsedMs: 0, data: { error: next.error, final: next.final } })
      continue
    }
    const step = 'do' in next ? next.do : next.compensate
    begun.push(step)
    written.push({ step, mark: 'intent', elapsedMs: 0 })
    const fate = fates[round] ?? 'done'
    if (fate === 'done') written.push({ step, mark: 'done', elapsedMs: 0 })
    if (fate === 'failed') written.push({ step, mark: 'failed', elapsedMs: 0, data: { error } })
  }
  throw new Error('it never ended')
}

describe.each(Object.entries(sagas))('%s', (_, saga) => {
  const fates = fc.array(fc.constantFrom('done', 'failed', 'killed'), { maxLength: 60 })
  const forward = namesOf(saga.steps)

  test('ends after any failures and kills', () => {
    fc.assert(fc.property(fates, (fate) => play(saga, fate).outcome !== undefined))
  })

  test('begins a step only after all before it are done', () => {
    fc.assert(
      fc.property(fates, (fate) => {
        const { begun } = play(saga, fate)
        const order = begun.filter((step) => forward.includes(step)).map((step) => forward.indexOf(step))
        return order.every((at, index) => at <= Math.max(-1, ...order.slice(0, index)) + 1)
      }),
    )
  })

  test('only compensates after a failure, and compensates nothing after the commit', () => {
    fc.assert(
      fc.property(fates, (fate) => {
        const { written } = play(saga, fate)
        const failed = written.findIndex(({ step, mark }) => mark === 'failed' && forward.includes(step))
        const committed = written.findIndex(({ step, mark }) => step === forward.at(-1) && mark === 'done')
        const stepsAfter = (at: number) => (at < 0 ? [] : written.slice(at + 1).map(({ step }) => step))
        const compensationOnly = namesOf(saga.compensation).filter((step) => !namesOf(saga.finish).includes(step))
        return (
          stepsAfter(failed).every((step) => !forward.includes(step)) &&
          stepsAfter(committed).every((step) => !compensationOnly.includes(step))
        )
      }),
    )
  })

  test('is committed or rolled back only when all required final steps are done', () => {
    fc.assert(
      fc.property(fates, (fate) => {
        const { written, outcome } = play(saga, fate)
        const facts = foldSaga(saga, written)
        const needed = isCommitted(saga, facts) ? saga.finish : saga.compensation.filter(({ when }) => when?.(facts, world) ?? true)
        return ['committed', 'rolled_back'].includes(outcome) === needed.every(({ name }) => facts.done.has(name))
      }),
    )
  })
})

test('a host is fenced and stopped before its last snapshot, and owns the box until that is complete', () => {
  const steps = namesOf(handOverSaga.steps)
  expect(steps.indexOf('fence')).toBeLessThan(steps.indexOf('stop'))
  expect(steps.indexOf('stop')).toBeLessThan(steps.indexOf('snapshot'))
  expect(steps.at(-1)).toBe('keep')
})

test('a new host is opened only after it is proven and recorded', () => {
  const steps = namesOf(takeOverSaga.steps)
  expect(steps.indexOf('probe')).toBeLessThan(steps.indexOf('keep'))
  expect(takeOverSaga.finish[0]?.name).toBe('open')
})
