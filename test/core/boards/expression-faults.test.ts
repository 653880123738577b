import { expect, test } from 'vitest'
import { eventExpressionFault } from '../../../src/core/boards/event-trigger.ts'
import { evaluate, expressionChecker } from '../../../src/core/boards/expression.ts'
import type { VariableType } from '../../../src/core/boards/variables.ts'

const types = new Map<string, VariableType>([
  ['place', 'text'],
  ['people', 'number'],
  ['day', 'date'],
])
const check = expressionChecker(types)

test.each([
  ['vars.peple > 10', 'reads vars.peple, which no form and no start variable sets (known: place, people, day)'],
  ['has(vars.place.note)', 'calls has() of something that is no variable. fix: write has(vars.<name>)'],
  ['has(vars.peple) && vars.people > 10', 'reads vars.peple, which no form and no start variable sets (known: place, people, day)'],
  ['vars.people > 10 &&', 'ends too early'],
  ['vars.place > 10', 'uses > with a text and a whole number'],
  ["vars.people == 'ten'", 'uses == with a number and a text'],
  ['people > 10', 'reads people. fix: write vars.people'],
  ['guests > 10', 'reads guests, which does not exist. fix: write vars.<name> (known: place, people, day)'],
  ['vars.people = 1', 'has a single =. fix: write == to compare'],
  ['vars.people + 1.0', 'gives a number, not true or false'],
  ['size(vars) > 1', 'calls size($vars), which does not exist'],
  ['vars.people > 1 2', "has '2' where it is not expected"],
  ["vars.place == 'a", 'has a text without its closing quote'],
  [
    "timestamp('2026-11-27T25:00:00Z') > timestamp(0)",
    "calls timestamp('2026-11-27T25:00:00Z'), which fails always. fix: write it as timestamp('2026-11-27T08:00:00Z')",
  ],
  ["duration('abc') > duration('1h')", "calls duration('abc'), which fails always. fix: write it as duration('1h30m')"],
  [
    "has(vars.day) && vars.day == '01.12.2026'",
    "compares the date vars.day with '01.12.2026', which is no date of a form. fix: write dates as '2026-11-27'",
  ],
  ['vars.place.shout()', 'calls string.shout(), which does not exist'],
  [
    `vars.people > 1${' && vars.people > 1'.repeat(80)}`,
    'is too long or too deep (limit 300). fix: use two decisions, or a shorter expression',
  ],
])('%s', (expression, fault) => {
  expect(check(expression).error).toBe(fault)
})

test.each([
  ['event.status = done', 'has a single =. fix: write == to compare'],
  [
    "timestamp(event.at) > timestamp('27.11.2026 10:00:00')",
    "calls timestamp('27.11.2026 10:00:00'), which fails always. fix: write it as timestamp('2026-11-27T08:00:00Z')",
  ],
  ['status == "done"', 'reads status. fix: write event.status'],
])('of an event: %s', (expression, fault) => {
  expect(eventExpressionFault(expression)).toBe(fault)
})

test.each([
  ["has(vars.place) && vars.place == 'x'", false],
  ["vars.place == 'x' && has(vars.place)", false],
  ["!has(vars.place) || vars.place == 'x'", true],
  ["has(vars.place) ? vars.place == 'x' : true", true],
  ["!(has(vars.place) && vars.people > 1) || vars.place == 'x'", true],
])('a guarded condition has a value without its variable: %s', (expression, value) => {
  expect([...check(expression).unguarded]).not.toContain('place')
  expect(evaluate(expression, types, { people: 2 })).toBe(value)
})
