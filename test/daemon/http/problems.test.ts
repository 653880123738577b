import { expect, test } from 'vitest'
import { problem } from '../../../src/core/kit/index.ts'
import { asProblem } from '../../../src/daemon/http/problems.ts'

const failure = (facts: object) => Object.assign(new Error('as it was said inside'), facts)

test.each([
  ['a deadlock that PostgreSQL ended', { code: '40P01' }, 'UNAVAILABLE', true],
  ['a transaction that could not be put in line', { code: '40001' }, 'UNAVAILABLE', true],
  ['a SQLite file that another process writes to', { code: 'SQLITE_BUSY' }, 'UNAVAILABLE', true],
  ['a statement that took too long', { code: '57014' }, 'UNAVAILABLE', true],
  ['a transaction that rested too long', { code: '25P03' }, 'UNAVAILABLE', true],
  ['a PostgreSQL that shuts down', { code: '57P01' }, 'UNAVAILABLE', true],
  ['a PostgreSQL that is only read from', { code: '25006' }, 'UNAVAILABLE', true],
  ['a database that nobody listens for', { code: 'ECONNREFUSED' }, 'UNAVAILABLE', true],
  ['a connection that broke', { message: 'Connection terminated unexpectedly' }, 'UNAVAILABLE', true],
  ['a row that is there already, which nobody foresaw', { code: '23505' }, 'INTERNAL', false],
  ['a fault of the program', {}, 'INTERNAL', false],
  ['a body that is no JSON', { type: 'entity.parse.failed', status: 400 }, 'BAD_JSON', false],
] as const)('%s is answered as what it is, without its own words', (_, facts, code, retryable) => {
  const found = asProblem(failure(facts))
  expect(found).toMatchObject({ code, retryable })
  expect(JSON.stringify(found.toBody())).not.toContain('inside')
})

test('a problem stays itself', () => {
  const one = problem('NOT_FOUND', 'there is no such box')
  expect(asProblem(one)).toBe(one)
})
