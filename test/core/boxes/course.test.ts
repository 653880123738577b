import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Course,
  type CourseEvent,
  drillCourse,
  endedCleanly,
  foldCourse,
  handOverCourse,
  isCommitted,
  nextStep,
  takeBackCourse,
  takeOverCourse,
  tooManyTries,
} from '../../../src/core/boxes/index.ts'

type Step = 'a' | 'b' | 'c' | 'after' | 'undo-a' | 'undo-b'
const course: Course<Step> = {
  there: ['a', 'b', 'c'],
  after: ['after'],
  back: [
    { step: 'undo-b', takesBack: 'b' },
    { step: 'undo-a', takesBack: 'a' },
  ],
}
const error = { code: 'CONFLICT', message: 'no' }
/** `a` = begun, `a+` = done, `a!` = failed. */
const events = (text: string): CourseEvent<Step>[] =>
  text
    .split(' ')
    .filter(Boolean)
    .flatMap((word): CourseEvent<Step>[] => {
      const step = word.replace(/[+!]$/, '') as Step
      const begun = { step, mark: 'intent' as const }
      if (word.endsWith('+')) return [begun, { step, mark: 'done' as const }]
      return word.endsWith('!') ? [begun, { step, mark: 'failed' as const, error }] : [begun]
    })
const next = (text: string, holds?: (step: Step) => boolean) => nextStep(course, foldCourse(course, events(text)), holds)

test.each([
  ['', 'a'],
  ['a', 'a'],
  ['a+', 'b'],
  ['a+ b', 'b'],
  ['a+ b+', 'c'],
  ['a+ b+ c+', 'after'],
  ['a+ b+ c+ after!', 'after'],
  ['a+ b+ c+ after+', undefined],
  ['a!', 'undo-a'],
  ['a+ b!', 'undo-b'],
  ['a+ b! undo-b+', 'undo-a'],
  ['a+ b! undo-b!', 'undo-b'],
  ['a+ b! undo-b+ undo-a+', undefined],
  ['a+ b+ a', 'a'],
  ['a+ b+ a+', 'b'],
  ['a+ b! undo-b! undo-b! undo-b! undo-b! undo-b!', undefined],
] as const)('after "%s" comes %s', (text, step) => {
  expect(next(text)).toBe(step)
})

test('what no longer holds is done again, and all after it; not once it is committed', () => {
  const lost = (step: Step) => step !== 'a'
  expect(next('a+ b+', lost)).toBe('a')
  expect(next('a+ b+ a+', (step) => step !== 'b')).toBe('b')
  expect(next('a+ b+ c+', lost)).toBe('after')
})

test('a step that never holds becomes a failure', () => {
  const facts = foldCourse(course, events('a+ '.repeat(20)))
  expect(tooManyTries(facts, 'a')).toMatchObject({ code: 'CONFLICT' })
  expect(tooManyTries(foldCourse(course, events('a+ '.repeat(19))), 'a')).toBeUndefined()
})

const courses = { handOverCourse, takeOverCourse, takeBackCourse, drillCourse } as unknown as Record<string, Course<string>>

/** Plays a course by its own plan; `lot` says of each step whether it is done, fails, or is cut off by a kill. */
function play(way: Course<string>, lots: readonly ('done' | 'failed' | 'killed')[]) {
  const written: CourseEvent<string>[] = []
  const begun: string[] = []
  for (let turn = 0; turn < 200; turn++) {
    const step = nextStep(way, foldCourse(way, written))
    if (step === undefined) return { written, begun, over: true }
    begun.push(step)
    written.push({ step, mark: 'intent' })
    const lot = lots[turn] ?? 'done'
    if (lot === 'done') written.push({ step, mark: 'done' })
    if (lot === 'failed') written.push({ step, mark: 'failed', error })
  }
  return { written, begun, over: false }
}

describe.each(Object.entries(courses))('%s', (_, way) => {
  const lots = fc.array(fc.constantFrom('done', 'failed', 'killed'), { maxLength: 60 })

  test('ends, whatever fails or is killed', () => {
    fc.assert(fc.property(lots, (lot) => play(way, lot).over))
  })

  test('begins a step only after all before it are done', () => {
    fc.assert(
      fc.property(lots, (lot) => {
        const { begun } = play(way, lot)
        const forward = begun.filter((step) => way.there.includes(step)).map((step) => way.there.indexOf(step))
        return forward.every((at, turn) => at <= Math.max(-1, ...forward.slice(0, turn)) + 1)
      }),
    )
  })

  test('goes nowhere after a failure but back, and after the commit nowhere back', () => {
    fc.assert(
      fc.property(lots, (lot) => {
        const { written } = play(way, lot)
        const commit = way.there.at(-1)
        const failed = written.findIndex(({ step, mark }) => mark === 'failed' && way.there.includes(step))
        const committed = written.findIndex(({ step, mark }) => step === commit && mark === 'done')
        const later = (at: number) => (at < 0 ? [] : written.slice(at + 1).map(({ step }) => step))
        const backOnly = way.back.map(({ step }) => step).filter((step) => !way.after.includes(step))
        return later(failed).every((step) => !way.there.includes(step)) && later(committed).every((step) => !backOnly.includes(step))
      }),
    )
  })

  test('says that it ended cleanly only when all that had to be done in the end was done', () => {
    fc.assert(
      fc.property(lots, (lot) => {
        const { written } = play(way, lot)
        const facts = foldCourse(way, written)
        const needed = isCommitted(way, facts)
          ? way.after
          : way.back.filter(({ takesBack }) => facts.begun.has(takesBack)).map(({ step }) => step)
        return endedCleanly(way, facts) === needed.every((step) => facts.done.has(step))
      }),
    )
  })
})

test('a host is fenced and stopped before its last snapshot, and answers for the box until that is whole', () => {
  const { there } = handOverCourse
  expect(there.indexOf('fence')).toBeLessThan(there.indexOf('stop'))
  expect(there.indexOf('stop')).toBeLessThan(there.indexOf('snapshot'))
  expect(there.at(-1)).toBe('keep')
})

test('a new host is opened only after it is proven and recorded', () => {
  expect(takeOverCourse.there.indexOf('probe')).toBeLessThan(takeOverCourse.there.indexOf('keep'))
  expect(takeOverCourse.after[0]).toBe('open')
})
