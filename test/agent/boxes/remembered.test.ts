import { expect, test } from 'vitest'
import { remembered } from '../../../src/agent/boxes/index.ts'

function counted(most: number) {
  const asked: string[] = []
  const answer = remembered(most, (...question) => {
    asked.push(question.join(' '))
    if (question[0] === 'broken') throw new Error('cannot be read')
    return { length: question.join('').length }
  })
  return { asked, answer }
}

test('the same key is computed once, another key again', () => {
  const { asked, answer } = counted(5)
  expect(answer('a', 'bc')).toBe(answer('a', 'bc'))
  expect(answer('ab', 'c')).toEqual({ length: 3 })
  expect(asked).toEqual(['a bc', 'ab c'])
})

test('the least recently used entry is evicted first', () => {
  const { asked, answer } = counted(2)
  for (const question of ['one', 'two', 'one', 'three', 'one', 'two']) answer(question)
  expect(asked).toEqual(['one', 'two', 'three', 'two'])
})

test('a failure is not cached', () => {
  const { asked, answer } = counted(2)
  expect(() => answer('broken')).toThrow('cannot be read')
  expect(() => answer('broken')).toThrow('cannot be read')
  expect(asked).toEqual(['broken', 'broken'])
})
