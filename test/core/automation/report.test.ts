import { expect, test } from 'vitest'
import { eventAliasName, writeReport } from '../../../src/core/automation/index.ts'

const facts = { eventId: 'e1', tenantName: 'School', createdAt: '2026-01-05T02:00:00.000Z', tasks: [] }

test('the default report has no open placeholder', () => {
  const { text, missing } = writeReport(facts, { variables: {} })
  expect(missing).toEqual([])
  expect(text).toContain('Event: e1')
  expect(text).toContain('0 tasks, 0 unfinished.')
})

test('variables replace names of the event; what is missing is listed once', () => {
  const made = writeReport(facts, { template: '{eventId} {x} {x} {constructor}', variables: { eventId: 'Drill', n: 1 } })
  expect(made).toEqual({ text: 'Drill (none) (none) (none)', missing: ['x', 'constructor'] })
})

test('events of two tenants have two aliases', () => {
  const alias = (tenantId: string, eventId: string) => eventAliasName({ tenantId, eventId })
  expect(new Set([alias('a', 'b'), alias('a', 'c'), alias('b', 'b'), alias('ab', '')]).size).toBe(4)
  expect(alias('a', 'ü/#:')).toMatch(/^tenantry\.event\.[0-9a-f]{32}$/)
})
