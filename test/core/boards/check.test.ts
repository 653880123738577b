import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { BoardDefinition, checkBoard } from '../../../src/core/boards/index.ts'
import { costlyExpressions, sketch } from './sketch.ts'

const context = { roles: new Set(['teacher', 'principal']), rooms: new Set(['!room:school']) }
const found = (...args: Parameters<typeof sketch>) =>
  checkBoard(sketch(...args), context).map(({ severity, code, elementId }) => `${severity} ${code} ${elementId}`)

describe('sound boards', () => {
  test.each([
    's > t1 > e',
    's > c1 > e; c1 -rejected-> t1 > c1',
    's > d1; d1 -1 > 2-> t1 > e; d1 -else-> e',
    's > p1 > t1 > j1 > e; p1 > c1 > j1',
    's > p1 > t1 > e1; p1 > t2 > e2',
    's > p1 > p2 > t1 > j2 > j1 > e; p2 > t2 > j2; p1 > t3 > j1',
    's > f1 > d1; d1 -vars.people > 10-> m1 > e; d1 -else-> e',
    's > w1 > d1; d1 -1 > 2-> w1; d1 -else-> e',
  ])('%s', (text) => {
    expect(found(text)).toEqual([])
  })

  test('ten branches of a hundred tasks each are one place each', () => {
    const branch = (nth: number) => `p1 > ${Array.from({ length: 100 }, (_, n) => `t${nth}x${n}`).join(' > ')} > j1`
    expect(found(`s > p1; ${Array.from({ length: 10 }, (_, nth) => branch(nth)).join(';')}; j1 > e`)).toEqual([])
  })

  test('forty branches with a choice before their join are one place', () => {
    const branch = (nth: number) => `p1 > d${nth}; d${nth} -else-> t${nth} > m${nth} > j1; d${nth} -1 > 2-> w${nth} > m${nth}x > m${nth}`
    expect(found(`s > p1; ${Array.from({ length: 40 }, (_, nth) => branch(nth)).join(';')}; j1 > e`)).toEqual([])
  })

  test('twenty decisions one after the other are twenty, not a million, paths', () => {
    const diamond = (nth: number) => `d${nth} -1 > 2-> m${nth} > d${nth + 1}; d${nth} -else-> d${nth + 1}`
    const last = 'd20 -1 > 2-> e; d20 -else-> e'
    expect(found(`s > d0; ${Array.from({ length: 20 }, (_, nth) => diamond(nth)).join(';')}; ${last}`)).toEqual([])
  })
})

test.each([
  ['s > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e', ['error DEADLOCK j1']],
  ['s > p1 > t1 > j1 > e; p1 > c1 > j1; c1 -rejected-> e2', ['error DEADLOCK j1']],
  ['s > p1 > t1 > t3 > e; p1 > t2 > t3', ['error TOKENS_MEET t3']],
  // The join of the second block does not hide that both of its tasks can open twice.
  ['s > p1 > t1 > p2; p1 > t2 > p2; p2 > t3 > j1; p2 > t4 > j1; j1 > e', [expect.stringMatching(/^error TOKENS_MEET t[34]$/)]],
  ['s > p1 > t1 > j1 > e; p1 > t2 > j1; t1 -timed_out-> p1', expect.arrayContaining(['error JOIN_TWICE j1'])],
  ['s > t1 > t2 > t1; s2 > e', expect.arrayContaining(['error START_REPEATED s2'])],
  ['s > t1; t1 -timed_out-> e; t1 > t1', ['error DUE_MISSING t1']],
  ['s > t1 > e; t2 > e', ['error UNREACHABLE t2']],
  ['s > t1 > e; t1 -timed_out-> t2 > t2', expect.arrayContaining(['error DUE_MISSING t1'])],
  ['s > d1; d1 -1 > 2-> m1 > d1; d1 -else-> e', ['error LOOP_WITHOUT_WAIT d1']],
  ['s > d1; d1 -1 > 2-> e; d1 -2 > 1-> e', ['error EDGE_MISSING d1']],
  ['s > c1; c1 -rejected-> e', ['error EDGE_MISSING c1']],
  ['s > p1 > e', ['error SPLIT_TOO_FEW p1']],
  ['s > j1 > e', ['error JOIN_TOO_FEW j1']],
  ['s > t1', expect.arrayContaining(['error EDGE_MISSING t1'])],
])('%s', (text, expected) => {
  const due = { t1: { assignedRole: 'teacher', ...(text.startsWith('s > p1 > t1 > j1 > e; p1 > t2') ? { dueAt: 'PT1H' } : {}) } }
  expect(found(text, due)).toEqual(expected)
})

test('a path names each element once, also one in which the run waits', () => {
  const findings = checkBoard(sketch('s > f1 > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e'), context)
  const [finding] = findings.filter(({ code }) => code === 'DEADLOCK')
  expect(finding?.path?.join(' > ')).toMatch(/^s > f1 > d1 > t[12] > j1$/)
})

test.each<[string, string, object, string | undefined]>([
  ['a timer of a fixed time', 's > w1 > m1 > d1; d1 -1 > 2-> w1; d1 -else-> e', { w1: { until: '2026-11-27T08:00:00Z' } }, 'w1'],
  ['a timer of no time', 's > w1 > m1 > d1; d1 -1 > 2-> w1; d1 -else-> e', { w1: { until: 'PT0S' } }, 'w1'],
  ['a timer of seconds', 's > w1 > w2 > d1; d1 -1 > 2-> w1; d1 -else-> e', { w1: { until: 'PT1S' }, w2: { until: 'PT59S' } }, 'w1'],
  ['a timer of a minute', 's > w1 > m1 > d1; d1 -1 > 2-> w1; d1 -else-> e', { w1: { until: 'PT1M' } }, undefined],
  ['a task due at a fixed time', 's > t1 > e; t1 -timed_out-> m1 > t1', { t1: { dueAt: '2026-11-27T08:00:00Z' } }, 't1'],
  ['a task due after a duration', 's > t1 > e; t1 -timed_out-> m1 > t1', { t1: { dueAt: 'PT1H' } }, undefined],
  ['a fixed time, then a task', 's > t1 > e; t1 -timed_out-> t2 > t1', { t1: { dueAt: '2026-11-27T08:00:00Z' } }, undefined],
])('a loop through %s', (_, text, config, elementId) => {
  const findings = checkBoard(sketch(text, config as Parameters<typeof sketch>[1]), context)
  expect(findings.map((one) => [one.code, one.elementId])).toEqual(elementId === undefined ? [] : [['LOOP_WITHOUT_WAIT', elementId]])
  for (const { message } of findings) expect(message).toContain('fix: use a duration such as PT1H')
})

test('a loop without an end is a fault', () => {
  expect(found('s > p1 > t1 > e; p1 > t2 > t3 > t2')).toEqual(['error NO_END t2', 'error NO_END t3'])
})

test('the path of a deadlock leads from the start to where the run stands still', () => {
  const [deadlock] = checkBoard(sketch('s > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e'), context)
  expect(deadlock?.path?.slice(0, 2)).toEqual(['s', 'd1'])
  expect(deadlock?.path?.at(-1)).toBe('j1')
  expect(deadlock?.message).toContain('waits for a branch that never comes')
})

describe('references and variables', () => {
  const form = (fields: object[]) => ({ f1: { fields } })
  test.each<[string, Parameters<typeof sketch>, string[]]>([
    ['an unknown role', ['s > t1 > e', { t1: { assignedRole: 'pilot' } }], ['error ROLE_UNKNOWN t1']],
    ['an unknown escalation role', ['s > t1 > e', { t1: { escalationRole: 'pilot', dueAt: 'P1D' } }], ['error ROLE_UNKNOWN t1']],
    ['an unbound role', ['s > t1 > e', { t1: { assignedRole: { role: 'head' } } }], ['error BINDING_MISSING t1']],
    ['a bound role', ['s > t1 > e', { t1: { assignedRole: { role: 'head' } } }, { bindings: { roles: { head: 'teacher' } } }], []],
    ['an unknown room', ['s > m1 > e', { m1: { room: '!other:school' } }], ['error ROOM_UNKNOWN m1']],
    ['a room of the tenant', ['s > m1 > e', { m1: { room: '!room:school' } }], []],
    ['a name that nothing sets', ['s > m1 > e', { m1: { body: 'For {people}' } }], ['error VARIABLE_UNKNOWN m1']],
    ['a name in a title that nothing sets', ['s > r1 > e', { r1: { title: 'For {people}' } }], ['error VARIABLE_UNKNOWN r1']],
    [
      'one variable of two types',
      ['s > f1 > e', form([{ name: 'a', label: 'A', kind: 'text' }]), { variables: [{ name: 'a', type: 'number' }] }],
      ['error VARIABLE_TYPES null'],
    ],
    [
      'a field twice',
      [
        's > f1 > e',
        form([
          { name: 'a', label: 'A', kind: 'text' },
          { name: 'a', label: 'B', kind: 'text' },
        ]),
      ],
      ['error FIELD_REPEATED f1'],
    ],
    ['a reserved name', ['s > e', {}, { variables: [{ name: 'run', type: 'text' }] }], ['error VARIABLE_RESERVED null']],
  ])('%s', (_, args, expected) => {
    expect(found(...args)).toEqual(expected)
  })

  test.each<[string, object, boolean]>([
    ['a number', { kind: 'number', min: 10, max: 1 }, false],
    ['a date', { kind: 'date', min: '2026-02-01', max: '2026-01-01' }, false],
    ['a text', { kind: 'text', minLength: 3_000 }, false],
    ['one number', { kind: 'number', min: 1, max: 1 }, true],
    ['one date', { kind: 'date', min: '2026-01-01', max: '2026-01-01' }, true],
    ['a text of one length', { kind: 'text', minLength: 5, maxLength: 5 }, true],
  ])('a field that no value fits is a fault: %s', (_, field, isPossible) => {
    const findings = found('s > f1 > e', form([{ name: 'x', label: 'X', required: true, ...field }]))
    expect(findings).toEqual(isPossible ? [] : ['error FIELD_IMPOSSIBLE f1'])
  })

  test('an escalation role without any time is a warning', () => {
    const escalating = { t1: { escalationRole: 'principal' } }
    expect(found('s > t1 > e', escalating)).toEqual(['warning ESCALATION_NEVER t1'])
    expect(found('s > t1 > e', escalating, { sla: 'P1D' })).toEqual([])
    expect(found('s > t1 > e', { t1: { ...escalating.t1, dueAt: 'P1D' } })).toEqual([])
  })

  test('a fixed moment in the past is a warning', () => {
    const at = (now: string) => {
      const board = sketch('s > t1 > w1 > e', { t1: { dueAt: '2026-11-27T08:00:00Z' }, w1: { until: '2026-11-27T08:00:00Z' } })
      return checkBoard(board, { ...context, now: new Date(now) }).map(({ code, elementId }) => [code, elementId])
    }
    expect(at('2026-11-27T07:59:59Z')).toEqual([])
    expect(at('2026-11-27T08:00:00Z')).toEqual([
      ['TIME_PASSED', 't1'],
      ['TIME_PASSED', 'w1'],
    ])
  })

  test('a role whose users do not know each other makes all of them readers of the values', () => {
    const check = (config: object, more: object = {}) =>
      checkBoard(sketch('s > t1 > f1 > e', { f1: config }, more as never), {
        ...{ roles: new Set(['teacher', 'parent']), unlistedRoles: new Set(['parent']), rooms: new Set<string>() },
      }).map(({ severity, code, elementId }) => `${severity} ${code} ${elementId}`)
    const fields = [{ name: 'reason', label: 'Reason', kind: 'text' }]
    expect(check({ assignedRole: 'parent', fields })).toEqual(['warning ROLE_READS_RUN f1'])
    expect(check({ assignedRole: 'teacher', escalationRole: 'parent', dueAt: 'P1D', fields })).toEqual(['warning ROLE_READS_RUN f1'])
    expect(check({ assignedRole: undefined, assignedTo: 'starter', fields })).toEqual([])
    expect(check({ assignedRole: 'teacher', fields })).toEqual([])
    const board = sketch('s > t1 > e', { t1: { assignedRole: 'parent' } })
    const parents = { roles: new Set(['parent']), unlistedRoles: new Set(['parent']), rooms: new Set<string>() }
    expect(checkBoard(board, parents)).toEqual([])
  })

  test('an element has one worker: a role, or the user who started the run', () => {
    const both = { assignedTo: 'starter' }
    expect(() => sketch('s > t1 > e', { t1: both })).toThrow('assignedTo: starter')
    expect(() => sketch('s > t1 > e', { t1: { assignedRole: undefined } })).toThrow('assignedTo: starter')
    expect(() => sketch('s > c1 > e', { c1: { assignedRole: undefined, ...both } })).toThrow()
  })

  test('the user who started the run exists for a start by hand or by a message, not by a time or an event', () => {
    const own = { t1: { assignedRole: undefined, assignedTo: 'starter' } }
    const check = (trigger: object) => found('s > t1 > e', own, { triggers: [{ id: 'x', ...trigger }] })
    expect(check({ kind: 'chat', phrases: ['alarm'] })).toEqual([])
    expect(check({ kind: 'cron', expression: '0 8 * * 1' })).toEqual(['error STARTER_MISSING t1'])
    expect(check({ kind: 'event', eventType: 'task.updated' })).toEqual(['error STARTER_MISSING t1'])
  })

  test('a label names values that the board sets', () => {
    const board = sketch('s > t1 > e')
    const elements = board.elements.map((one) => (one.id === 't1' ? { ...one, label: 'For {guest}' } : one))
    expect(checkBoard({ ...board, elements }, context)).toMatchObject([{ code: 'VARIABLE_UNKNOWN', elementId: 't1' }])
  })

  test('a template may leave its parameters open', () => {
    const board = sketch('s > t1 > m1 > e', { t1: { assignedRole: { role: 'head' } }, m1: { room: { room: 'staff' } } })
    expect(checkBoard(board, context, { isTemplate: true })).toEqual([])
    expect(checkBoard(board, context).map(({ code }) => code)).toEqual(['BINDING_MISSING', 'BINDING_MISSING'])
  })
})

describe('expressions', () => {
  const decide = (expression: string, required = true) =>
    found(`s > f1 > d1; d1 -${expression}-> t1 > e; d1 -else-> e`, {
      f1: {
        fields: [
          { name: 'people', label: 'People', kind: 'number', required },
          { name: 'note', label: 'Note', kind: 'text' },
          { name: 'day', label: 'Day', kind: 'date' },
          { name: 'until', label: 'Until', kind: 'date' },
        ],
      },
    })

  test.each([
    'vars.people > 10',
    'vars.people == 10',
    "has(vars.note) && vars.note != ''",
    'vars.people > 1.5 ? true : false',
    'vars.people in [1.0, 2.0]',
    "has(vars.note) && vars.note.contains('urgent')",
    "has(vars.note) && size(vars.note) > 1 && vars.note.substring(0, 2) == 'AB'",
    "has(vars.day) && timestamp(vars.day + 'T00:00:00Z').getDayOfWeek() == 1",
    'int(vars.people) > 10',
    "!has(vars.note) || vars.note == 'x'",
    "has(vars.note) ? vars.note == 'x' : false",
    "!has(vars.note) ? false : vars.note == 'x'",
    "!(!has(vars.note) || vars.note == '') && vars.people > 1",
    "vars.note == 'x' && has(vars.note)",
    "has(vars.note) == true && vars.note == 'x'",
    "false != has(vars.note) && vars.note == 'x'",
    "has(vars.note) == false || vars.note == 'x'",
    "(has(vars.note) ? true : false) && vars.note == 'x'",
    "(has(vars.note) ? vars.people > 1 : false) && vars.note == 'x'",
    "(!has(vars.note) ? true : false) || vars.note == 'x'",
    'int(vars.people) != 0 && 10 / int(vars.people) > 1',
    'vars.people + 1.0 != 0 && 10.0 / (vars.people + 1.0) > 1.0',
    '10 / (3 + 2) > 1 && 10 / -(4 - 2) > 1 && 10 % 3 == 1 && vars.people / (1.5 + 0.5) > 1',
    'vars.people > 0 && 10.0 / vars.people > 1.0 && int(vars.people) % 2 == 0',
    "has(vars.day) && vars.day >= '2026-12-01' && vars.day != '' && vars.day.startsWith('2026-1') && vars.day.endsWith('-01')",
    "has(vars.day) && (vars.day in ['2026-12-24', '2026-12-25'] || vars.day.contains('-12-'))",
    'has(vars.day) && has(vars.until) && vars.day <= vars.until',
    "timestamp('2026-11-27T08:00:00Z') + duration('1h30m') > timestamp(0)",
  ])('%s is accepted', (expression) => {
    expect(decide(expression)).toEqual([])
  })

  test.each([
    ['vars.persons > 10', 'EXPRESSION_INVALID'],
    ['has(vars.persons)', 'EXPRESSION_INVALID'],
    ['has(vars.persons) && vars.people > 10', 'EXPRESSION_INVALID'],
    ['!has(vars.people.note)', 'EXPRESSION_INVALID'],
    ['vars.people + 1.0', 'EXPRESSION_INVALID'],
    ["vars.people == 'ten'", 'EXPRESSION_INVALID'],
    ['vars.people >', 'EXPRESSION_INVALID'],
    ["has(vars.note) && vars.note.matches('(a+)+$')", 'EXPRESSION_INVALID'],
    ["has(vars.note) && size(vars.note.split('')) > 1", 'EXPRESSION_INVALID'],
    ['[1,2].exists(x, x > 1)', 'EXPRESSION_INVALID'],
    ['size(vars) > 1', 'EXPRESSION_INVALID'],
    [`vars.people > 1${' && vars.people > 1'.repeat(80)}`, 'EXPRESSION_INVALID'],
    ["vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["has(vars.note) || vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["!has(vars.note) && vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["has(vars.note) ? true : vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["has(vars.note) != true && vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["(has(vars.note) ? true : vars.people > 1) && vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["(vars.people > 1 ? has(vars.note) : true) && vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["(has(vars.note) || vars.people > 1) && vars.note == 'x'", 'VARIABLE_UNGUARDED'],
    ["has(vars.day) && timestamp(vars.day) > timestamp('2026-01-01T00:00:00Z')", 'EXPRESSION_INVALID'],
    ['has(vars.day) && int(vars.day) > 1', 'EXPRESSION_INVALID'],
    ["has(vars.day) && timestamp(vars.day + 'T25:00:00Z') > timestamp(0)", 'EXPRESSION_INVALID'],
    ["has(vars.day) && timestamp(vars.day + ' 10:00:00') > timestamp(0)", 'EXPRESSION_INVALID'],
    ["timestamp('2026-02-30T00:00:00Z') > timestamp(0)", 'EXPRESSION_INVALID'],
    ["timestamp('Nov 27 2026 10:00:00') > timestamp(0)", 'EXPRESSION_INVALID'],
    ["duration('abc') > duration('1h')", 'EXPRESSION_INVALID'],
    ["vars.people > 1 && int('ten') > 1", 'EXPRESSION_INVALID'],
    ["has(vars.day) && vars.day == '01.12.2026'", 'EXPRESSION_INVALID'],
    ["has(vars.day) && '2026-1-5' <= vars.day", 'EXPRESSION_INVALID'],
    ["has(vars.day) && vars.day != '2026-02-30'", 'EXPRESSION_INVALID'],
    ["has(vars.day) && vars.day in ['2026-12-24', '25.12.2026']", 'EXPRESSION_INVALID'],
    ["has(vars.day) && vars.day.startsWith('01.12.')", 'EXPRESSION_INVALID'],
    ["(has(vars.day) ? string(vars.day) : '') > (vars.people > 1 ? '2026-12-01' : 'Dec 1')", 'EXPRESSION_INVALID'],
  ])('%s is refused', (expression, code) => {
    expect(decide(expression)).toEqual([`error ${code} d1`])
  })

  test.each(["vars.note.substring(0, 2) == 'AB'", 'int(vars.note) > 1', "timestamp(vars.note + 'T00:00:00Z').getDayOfWeek() == 1"])(
    '%s gets a warning: it fails the run for some text',
    (expression) => {
      expect(decide(`has(vars.note) && ${expression}`)).toEqual(['warning EXPRESSION_MAY_FAIL d1'])
    },
  )

  test.each([
    '10 / int(vars.people) > 1',
    '10 % int(vars.people) == 1',
    '10 / (int(vars.people) - 1) > 1',
    '10 / (3 - 3) > 1',
    '10 / size([]) > 1',
    '10.0 / vars.people > 1.0',
    '10.0 / (vars.people - 1.0) > 1.0',
    '10.0 / (-vars.people * double(2)) > 1.0',
    'vars.people / (0.5 - 0.5) > 1',
  ])('%s gets a warning: it has no usable value for some number', (expression) => {
    expect(decide(expression)).toEqual(['warning EXPRESSION_MAY_FAIL d1'])
  })

  test('a number that no form takes 0 for divides without a warning', () => {
    const withField = (bounds: object) => {
      const fields = [{ name: 'rooms', label: 'Rooms', kind: 'number', required: true, ...bounds }]
      return found('s > f1 > d1; d1 -10.0 / vars.rooms > 2-> e1; d1 -else-> e2', { f1: { fields } })
    }
    expect([{ min: 1 }, { max: -1 }].flatMap(withField)).toEqual([])
    expect(withField({ min: 0 })).toEqual(['warning EXPRESSION_MAY_FAIL d1'])
  })

  test('a date that is compared with a text variable gets a warning', () => {
    expect(decide('has(vars.day) && has(vars.note) && vars.day == vars.note')).toEqual(['warning EXPRESSION_MAY_FAIL d1'])
  })

  test('a time of a date names the text that makes it one', () => {
    const fields = [{ name: 'day', label: 'Day', kind: 'date', required: true }]
    const text = (time: string) => `s > f1 > d1; d1 -timestamp(${time}) > timestamp('2026-01-01T00:00:00Z')-> e1; d1 -else-> e2`
    const [fault] = checkBoard(sketch(text('vars.day'), { f1: { fields } }), context)
    expect(fault?.message).toContain("fix: write timestamp(vars.day + 'T00:00:00Z')")
    expect(found(text("vars.day + 'T00:00:00Z'"), { f1: { fields } })).toEqual([])
  })

  test.each(costlyExpressions('vars.note'))('%s is refused', (expression) => {
    expect(decide(`has(vars.note) && ${expression}`)).toEqual(['error EXPRESSION_INVALID d1'])
  })

  test('a value that only one of two paths sets needs a guard', () => {
    const text = (expression: string) => `s > d1; d1 -1 > 2-> f1 > d2; d1 -else-> d2; d2 -${expression}-> t1 > e; d2 -else-> e`
    expect(found(text('vars.people > 10'))).toEqual(['error VARIABLE_UNGUARDED d2'])
    expect(found(text('has(vars.people) && vars.people > 10'))).toEqual([])
  })

  test('after a join the values of all branches are set', () => {
    expect(found('s > p1 > f1 > j1 > d1; p1 > t1 > j1; d1 -vars.people > 10-> t2 > e; d1 -else-> e')).toEqual([])
  })
})

/** 40 branches that all wait at the same time, each with a choice. */
const manyStates = (branch: (nth: number) => string) =>
  checkBoard(sketch(`s > p1; ${Array.from({ length: 40 }, (_, nth) => branch(nth)).join(';')}; j1 > e`), context)

test('a board with more states than can be explored gets a warning', () => {
  const found = manyStates((nth) => `p1 > t${nth}a > d${nth}; d${nth} -1 > 2-> t${nth}b > t${nth}a; d${nth} -else-> j1`)
  expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(['warning TOO_MANY_STATES'])
  expect(found[0]).toMatchObject({ elementId: 's', message: expect.stringMatching(/ fix: use fewer parallel branches$/) })
})

test('a deadlock among more states than can be explored is still found, with its path, also where one step has them all', () => {
  const found = manyStates((nth) => `p1 > d${nth}; d${nth} -1 > 2-> t${nth}x > j1; d${nth} -else-> t${nth}y > j1`)
  expect(found.map(({ severity, code }) => `${severity} ${code}`)).toEqual(['error DEADLOCK', 'warning TOO_MANY_STATES'])
  expect(found[0]?.path?.slice(0, 2)).toEqual(['s', 'p1'])
  expect(found[0]?.path?.filter((id) => id.startsWith('t39'))).toHaveLength(1)
})

test.each(['constructor', 'toString', '__proto__'])('a field cannot be named %s', (name) => {
  expect(() => sketch('s > f1 > e', { f1: { fields: [{ name, label: 'X', kind: 'text' }] } })).toThrow(/must be (another|a) name/)
})

test('tokens that meet are found in a loop of splits', async () => {
  const board = JSON.parse(await readFile(new URL('loop-of-splits.json', import.meta.url), 'utf8'))
  const found = checkBoard(BoardDefinition.parse(board), context)
  expect(found.map(({ code, elementId }) => `${code} ${elementId}`)).toEqual(['TOKENS_MEET f16', 'TOKENS_MEET t22'])
})

test('of too many states in a loop of a split the warning names the split', () => {
  const found = manyStates((nth) => `p1 > t${nth}a > d${nth}; d${nth} -1 > 2-> ${nth === 0 ? 'p1' : `t${nth}a`}; d${nth} -else-> j1`)
  expect(found.find(({ code }) => code === 'TOO_MANY_STATES')).toMatchObject({
    elementId: 'p1',
    message: expect.stringMatching(
      / fix: use fewer parallel branches, and let no edge lead back to parallel_split "p1" before a join of all its branches$/,
    ),
  })
})
