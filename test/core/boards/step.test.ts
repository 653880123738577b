import { describe, expect, test } from 'vitest'
import { activeOf, compileBoard, type RunInput, type RunState, startRun, stepRun } from '../../../src/core/boards/index.ts'
import { costlyExpressions, sketch } from './sketch.ts'

const start = '2026-11-23T08:00:00.000Z'
const later = (minutes: number) => new Date(Date.parse(start) + minutes * 60_000).toISOString()

/** A run of a sketched board that is driven by inputs; `did` collects the effects since the last look. */
function play(args: Parameters<typeof sketch>, variables: Record<string, string | number | boolean> = {}) {
  const board = compileBoard(sketch(...args))
  let { run, effects } = startRun({ board, now: start }, { by: 'anna', variables })
  let did = [...effects]
  const on = (input: RunInput, now = start) => {
    ;({ run, effects } = stepRun({ board, now }, run, input))
    did.push(...effects)
    return at()
  }
  const at = () => activeOf(board, run).elementIds
  const look = () => {
    const types = did.map((effect) =>
      'elementId' in effect
        ? `${effect.type} ${effect.elementId}`
        : 'token' in effect
          ? `${effect.type} ${effect.token.elementId}`
          : effect.type,
    )
    did = []
    return types
  }
  const token = (elementId: string) => run.tokens.find((one) => one.elementId === elementId)?.id as string
  return { on, at, look, token, run: () => run }
}

const complete = (elementId: string): RunInput => ({ type: 'complete', elementId, by: 'ben' })
const approve = (by: string, eligible: readonly string[] = ['ben', 'carla', 'dora']): RunInput => ({
  type: 'approve',
  elementId: 'c1',
  by,
  eligible,
})
const codeOf = (run: () => unknown) => {
  try {
    run()
    return undefined
  } catch (error) {
    return (error as { code: string }).code
  }
}

test('a refusal names an element by its label with the values of the run', () => {
  const board = sketch('s > c1 > t1 > e', { c1: { assignedRole: 'principal', allowSelfApproval: true } })
  const elements = board.elements.map((one) => (one.id === 't1' ? { ...one, label: 'Prepare the room for {guest}' } : one))
  const at = { board: compileBoard({ ...board, elements }), now: start }
  const { run } = startRun(at, { by: 'anna', variables: { guest: 'Ann Lee' } })
  expect(() => stepRun(at, run, complete('t1'))).toThrow('The run does not wait at "Prepare the room for Ann Lee".')
  const next = stepRun(at, run, approve('ben')).run
  const refused = '"Prepare the room for Ann Lee" is a task, so approve is not possible. fix: use complete'
  expect(() => stepRun(at, next, { ...approve('ben'), elementId: 't1' } as RunInput)).toThrow(refused)
  expect(() => stepRun(at, next, { type: 'skip', elementId: 't1', by: 'ben' })).toThrow(
    '"Prepare the room for Ann Lee" may not be skipped.',
  )
})

describe('a straight run', () => {
  test('opens a task, closes it, and completes', () => {
    const { on, at, look, run } = play(['s > t1 > m1 > r1 > e'])
    expect([at(), run().status, look()]).toEqual([['t1'], 'waiting', ['opened t1']])
    expect(on(complete('t1'))).toEqual([])
    expect(look()).toEqual(['closed t1', 'timers_cleared', 'message m1', 'report r1', 'timers_cleared', 'ended'])
    expect(run()).toMatchObject({ status: 'completed', finishedAt: start, seq: 2 })
  })

  test('is running, not waiting, while only a timer is pending', () => {
    const { on, token, run, look } = play(['s > w1 > e'])
    expect([run().status, look()]).toEqual(['running', ['timer_set']])
    on({ type: 'timer', tokenId: token('w1'), name: 'elapsed' }, later(60))
    expect(run().status).toBe('completed')
  })

  test.each([
    [{ type: 'complete', elementId: 't2', by: 'ben' }, 'NOT_FOUND'],
    [{ type: 'submit', elementId: 't1', by: 'ben', values: {} }, 'INVALID_TRANSITION'],
    [{ type: 'skip', elementId: 't1', by: 'ben' }, 'INVALID_TRANSITION'],
    [{ type: 'complete', elementId: 's', by: 'ben' }, 'INVALID_TRANSITION'],
    [{ type: 'retry' }, 'INVALID_TRANSITION'],
  ] as const)('%o is refused with %s and changes nothing', (input, code) => {
    const { on, run } = play(['s > t1 > e'])
    const before = run()
    expect(codeOf(() => on(input))).toBe(code)
    expect(run()).toBe(before)
  })

  test('takes no input after its end', () => {
    const { on } = play(['s > t1 > e'])
    on(complete('t1'))
    for (const type of ['cancel', 'retry'] as const) expect(codeOf(() => on({ type }))).toBe('INVALID_TRANSITION')
    expect(codeOf(() => on(complete('t1')))).toBe('INVALID_TRANSITION')
  })

  test('may skip an element that says so', () => {
    const { on, look, run } = play(['s > t1 > e', { t1: { skippable: true } }])
    look()
    on({ type: 'skip', elementId: 't1', by: 'ben' })
    expect([run().status, look()[0]]).toEqual(['completed', 'closed t1'])
  })
})

describe('branches', () => {
  test('a join waits for each of its edges', () => {
    const { on } = play(['s > p1 > t1 > j1 > t3 > e; p1 > t2 > j1'])
    expect(on(complete('t1'))).toEqual(['t2'])
    expect(on(complete('t2'))).toEqual(['t3'])
  })

  test('branches without a join end each for itself', () => {
    const { on, run } = play(['s > p1 > t1 > e1; p1 > t2 > e2'])
    on(complete('t1'))
    expect(run().status).toBe('waiting')
    on(complete('t2'))
    expect(run().status).toBe('completed')
  })

  test('a terminating end cancels what is open', () => {
    const { on, look, run } = play(['s > p1 > t1 > e1; p1 > t2 > e2', { e1: { terminate: true } }])
    look()
    on(complete('t1'))
    expect([run().status, run().tokens, look()]).toEqual([
      'completed',
      [],
      ['closed t1', 'timers_cleared', 'closed t2', 'timers_cleared', 'timers_cleared', 'ended'],
    ])
  })

  test.each([
    [3, ['t2']],
    [30, ['t1']],
  ])('a decision for %i takes its branch', (people, expected) => {
    const { on } = play(['s > f1 > d1; d1 -vars.people > 10-> t1 > e; d1 -else-> t2 > e'])
    expect(on({ type: 'submit', elementId: 'f1', by: 'ben', values: { people } })).toEqual(expected)
  })

  test('of edges without an order the first of the list is tried first, whatever their ids are', () => {
    const definition = sketch(
      's > d1; d1 -vars.amount > 1000-> t1 > e; d1 -vars.amount > 100-> t2 > e; d1 -else-> e',
      {},
      { variables: [] },
    )
    const ids: Record<string, string> = { t1: 'to-principal', t2: 'to-office' }
    const edges = definition.edges.map((edge) => ({ ...edge, id: ids[edge.target] ?? edge.id, sortOrder: 0 }))
    const board = compileBoard({ ...definition, edges, variables: [{ name: 'amount', type: 'number', required: true }] })
    const { run } = startRun({ board, now: start }, { by: 'anna', variables: { amount: 5000 } })
    expect(run.tokens.map(({ elementId }) => elementId)).toEqual(['t1'])
  })

  test('a condition without a value fails the run, and a retry tries it again', () => {
    const { on, run } = play([
      's > t1 > d1; d1 -vars.people > 10-> t2 > e; d1 -else-> e',
      {},
      { variables: [{ name: 'people', type: 'number' }] },
    ])
    on(complete('t1'))
    expect(run()).toMatchObject({ status: 'failed', failure: { code: 'EXPRESSION_FAILED', elementId: 'd1' } })
    expect(run().failure?.message).toContain('vars.people > 10')
    expect(codeOf(() => on(complete('t2')))).toBe('INVALID_TRANSITION')
    on({ type: 'retry' })
    expect(run()).toMatchObject({ status: 'failed', failure: { elementId: 'd1' }, seq: 3 })
  })

  test.each(costlyExpressions('vars.note'))('a board that was published before %s was refused does not evaluate it', (expression) => {
    const board = compileBoard(sketch(`s > d1; d1 -${expression}-> e; d1 -else-> e`, {}, { variables: [{ name: 'note', type: 'text' }] }))
    const { failure } = startRun({ board, now: start }, { by: 'anna', variables: { note: 'a' } }).run
    expect(failure).toMatchObject({ code: 'EXPRESSION_FAILED', elementId: 'd1' })
    expect(failure?.message).toMatch(/not supported|needs a fixed text/)
  })

  test('an unchecked board that stands still fails as a deadlock', () => {
    const { on, run } = play(['s > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e'])
    on(complete('t2'))
    expect(run()).toMatchObject({ status: 'failed', failure: { code: 'DEADLOCK', elementId: 'j1' } })
  })

  test('an unchecked loop that never waits fails after a thousand elements', () => {
    const { run } = play(['s > d1; d1 -1 < 2-> m1 > d1; d1 -else-> e'])
    expect(run()).toMatchObject({ status: 'failed', failure: { code: 'TOO_MANY_STEPS' } })
  })
})

describe('checkpoints', () => {
  const two = ['s > c1 > e', { c1: { requiredApprovals: 2 } }] as const

  test('count two different people', () => {
    const { on, run } = play([...two])
    expect(on(approve('ben'))).toEqual(['c1'])
    const once = run()
    expect(on(approve('ben'))).toEqual(['c1'])
    expect(run()).toBe(once)
    on(approve('carla'))
    expect(run().status).toBe('completed')
  })

  test('do not count a person who is not eligible any more when the last one decides', () => {
    const { on, run } = play([...two])
    on(approve('ben'))
    expect(on(approve('carla', ['carla', 'dora']))).toEqual(['c1'])
    on(approve('dora', ['carla', 'dora']))
    expect(run().status).toBe('completed')
  })

  test('a repeated approval decides once enough of the approvers are eligible again', () => {
    const { on, run } = play([...two])
    on(approve('ben'))
    expect(on(approve('carla', ['carla']))).toEqual(['c1'])
    on(approve('ben', ['ben', 'carla']))
    expect(run().status).toBe('completed')
  })

  test('refuse who started the run or submitted a form, unless the element allows it', () => {
    const { on } = play(['s > f1 > c1 > e'])
    on({ type: 'submit', elementId: 'f1', by: 'ben', values: { people: 3 } })
    for (const by of ['anna', 'ben']) {
      expect(codeOf(() => on(approve(by)))).toBe('FORBIDDEN')
      expect(codeOf(() => on({ type: 'reject', elementId: 'c1', by }))).toBe('FORBIDDEN')
    }
    const open = play(['s > c1 > e', { c1: { allowSelfApproval: true } }])
    open.on(approve('anna', ['anna']))
    expect(open.run().status).toBe('completed')
  })

  test('one rejection takes the rejected edge', () => {
    const { on } = play(['s > c1 > e; c1 -rejected-> t1 > c1', { c1: { requiredApprovals: 2 } }])
    on(approve('ben'))
    expect(on({ type: 'reject', elementId: 'c1', by: 'carla' })).toEqual(['t1'])
    expect(on(complete('t1'))).toEqual(['c1'])
  })

  test('an approval before a rejection counts for nothing in the next round', () => {
    const { on, run } = play(['s > c1 > e; c1 -rejected-> c1', { c1: { requiredApprovals: 2 } }])
    on(approve('ben'))
    on({ type: 'reject', elementId: 'c1', by: 'carla' })
    on(approve('carla'))
    expect(run().tokens[0]?.approvals.map(({ userId }) => userId)).toEqual(['carla'])
  })

  test('a rejection without an edge ends the run as rejected, other branches too', () => {
    const { on, run, look } = play(['s > p1 > c1 > e1; p1 > t1 > e2'])
    look()
    on({ type: 'reject', elementId: 'c1', by: 'ben' })
    expect(run()).toMatchObject({ status: 'failed', failure: { code: 'REJECTED', elementId: 'c1' }, tokens: [] })
    expect(look()).toEqual(['closed c1', 'timers_cleared', 'closed t1', 'timers_cleared', 'timers_cleared', 'ended'])
    expect(codeOf(() => on({ type: 'retry' }))).toBe('INVALID_TRANSITION')
  })
})

describe('limits', () => {
  test('a message fits an event of a chat server, whatever its variables contain', () => {
    const definition = sketch('s > m1 > e', { m1: { body: '{note} {note} {note} end' } }, { variables: [{ name: 'note', type: 'text' }] })
    const { effects } = startRun({ board: compileBoard(definition), now: start }, { by: 'anna', variables: { note: 'x'.repeat(9_000) } })
    const [message] = effects.flatMap((effect) => (effect.type === 'message' ? [effect.body] : []))
    expect(message).toMatch(/^x{9000} x{9000} \(too long\) end$/)
  })

  test('conditions over long texts are refused before any is evaluated', () => {
    const long = `vars.note.lowerAscii() == "${'x'.repeat(1_900)}"`
    const board = (edges: number, condition: string) => {
      const definition = sketch('s > d1; d1 -else-> e', {}, { variables: [{ name: 'note', type: 'text' }] })
      const more = Array.from({ length: edges }, (_, nth) => ({
        ...{ id: `x${nth}`, source: 'd1', target: 'e', condition: { type: 'expression' as const, expression: condition } },
      }))
      return compileBoard({ ...definition, edges: [...more, ...definition.edges] } as never)
    }
    const runOf = (edges: number, note: string, condition = long) =>
      startRun({ board: board(edges, condition), now: start }, { by: 'anna', variables: { note } }).run
    const tooMuch = { status: 'failed', failure: { code: 'TOO_MUCH_WORK', elementId: 'd1' } }
    // The longest condition over the longest field of a form, twenty usual ones over a long chat message, ten over nearly all that a run may hold.
    expect(runOf(5, 'x'.repeat(10_000))).toMatchObject({ status: 'completed' })
    expect(runOf(20, 'x'.repeat(64_000), "vars.note.lowerAscii().contains('urgent')")).toMatchObject({ status: 'completed' })
    expect(runOf(10, 'x'.repeat(200_000), "vars.note.lowerAscii() == 'urgent'")).toMatchObject({ status: 'completed' })
    expect(runOf(200, 'short')).toMatchObject({ status: 'completed' })
    expect(runOf(220, 'short')).toMatchObject(tooMuch)
    expect(runOf(1, 'x'.repeat(200_000))).toMatchObject(tooMuch)
    expect(runOf(10, 'x'.repeat(200_000))).toMatchObject(tooMuch)
    const joined = `(${Array.from({ length: 40 }, () => 'vars.note').join(' + ')}).lowerAscii() == 'urgent'`
    expect(runOf(1, 'x'.repeat(200_000), joined)).toMatchObject(tooMuch)
  })

  test('decisions that many branches reach are refused before all their conditions are evaluated', () => {
    const branches = Array.from({ length: 900 }, () => 'p1 > d1').join(';')
    const edges = Array.from({ length: 10 }, (_, nth) => `d1 -"${'x'.repeat(600)}" == "${nth}"-> e`).join(';')
    const board = compileBoard(sketch(`s > p1; ${branches}; ${edges}; d1 -else-> e`))
    expect(startRun({ board, now: start }, { by: 'anna', variables: {} }).run.failure).toMatchObject({ code: 'TOO_MUCH_WORK' })
  })

  test('a loop of timers ends after 100,000 steps, and its history with it', () => {
    const board = compileBoard(sketch('s > w1 > d1 -vars.stop-> e; d1 -else-> w1', {}, { variables: [{ name: 'stop', type: 'boolean' }] }))
    const { run } = startRun({ board, now: start }, { by: 'anna', variables: { stop: false } })
    const [token] = run.tokens
    const input = { type: 'timer', tokenId: token?.id as string, name: 'elapsed' } as const
    expect(stepRun({ board, now: later(60) }, { ...run, seq: 99_999 }, input).run.failure).toBeNull()
    expect(stepRun({ board, now: later(60) }, { ...run, seq: 100_000 }, input).run.failure).toMatchObject({ code: 'TOO_MUCH_WORK' })
  })

  test('after 100,000 steps a run accepts nothing of users but a cancel', () => {
    const board = compileBoard(sketch('s > t1 > e'))
    const { run } = startRun({ board, now: start }, { by: 'anna', variables: {} })
    const full = { ...run, seq: 100_000 }
    expect(stepRun({ board, now: start }, { ...run, seq: 99_999 }, complete('t1')).run.status).toBe('completed')
    expect(() => stepRun({ board, now: start }, full, complete('t1'))).toThrow(/100000 steps.*fix: cancel the run/)
    expect(stepRun({ board, now: start }, full, { type: 'cancel' }).run.failure?.code).toBe('CANCELLED')
  })

  test('the forms of a run take at most 16 MB, all submissions together', () => {
    const fields = [{ name: 'note', label: 'Note', kind: 'text', maxLength: 10_000 }]
    const board = compileBoard(sketch('s > f1 > c1 > e; c1 -rejected-> f1', { f1: { fields } }))
    const input: RunInput = { type: 'submit', elementId: 'f1', by: 'ben', values: { note: 'é'.repeat(1_000) } }
    const { run } = startRun({ board, now: start }, { by: 'anna', variables: {} })
    const after = stepRun({ board, now: start }, run, input).run
    expect(after.submittedBytes).toBe(2_011)
    const left = 16 * 1024 * 1024 - 2_011
    expect(stepRun({ board, now: start }, { ...run, submittedBytes: left }, input).run.seq).toBe(2)
    const over = () => stepRun({ board, now: start }, { ...run, submittedBytes: left + 1 }, input)
    expect(codeOf(over)).toBe('PAYLOAD_TOO_LARGE')
    expect(over).toThrow(/fix: cancel the run/)
  })
})

describe('forms', () => {
  const fields = [
    { name: 'people', label: 'People', kind: 'number', required: true, min: 1 },
    { name: 'note', label: 'Note', kind: 'text', maxLength: 5 },
    { name: 'when', label: 'When', kind: 'date', min: '2026-01-01' },
    { name: 'born', label: 'Born', kind: 'date' },
    { name: 'where', label: 'Where', kind: 'choice', options: ['inside', 'outside'] },
  ]
  const submit = (values: unknown) => {
    const { on, run } = play(['s > f1 > e', { f1: { fields } }])
    on({ type: 'submit', elementId: 'f1', by: 'ben', values })
    return run().variables
  }

  test('set the variables of their fields', () => {
    const values = { people: 3, note: 'now', when: '2026-11-23', born: '0001-01-01', where: 'inside' }
    expect(submit(values)).toEqual(values)
  })

  test('that are submitted again keep no earlier value of a field that is left out, unless others set it too', () => {
    const f1 = { fields: [...fields, { name: 'first', label: 'First', kind: 'text' }] }
    const f2 = { fields: [{ name: 'where', label: 'Where', kind: 'choice', options: ['inside', 'outside'] }] }
    const { on, run } = play(['s > f1 > f2 > c1 > e; c1 -rejected-> f1', { f1, f2 }, { variables: [{ name: 'first', type: 'text' }] }], {
      first: 'a',
    })
    const submit = (elementId: string, values: unknown) => on({ type: 'submit', elementId, by: 'ben', values })
    submit('f1', { people: 3, note: 'late', when: '2026-11-23', where: 'inside' })
    submit('f2', {})
    expect(run().variables).toEqual({ first: 'a', people: 3, note: 'late', when: '2026-11-23', where: 'inside' })
    on({ type: 'reject', elementId: 'c1', by: 'carla' })
    submit('f1', { people: 4 })
    expect(run().variables).toEqual({ first: 'a', people: 4, where: 'inside' })
  })

  test.each([
    [{}, 'data.people', 'is missing'],
    [{ people: 0 }, 'data.people', 'must be at least 1'],
    [{ people: '3' }, 'data.people', 'must be a number'],
    [{ people: 3, note: 'longer' }, 'data.note', /must have at most/],
    [{ people: 3, when: '2025-01-01' }, 'data.when', /or later/],
    [{ people: 3, when: 'soon' }, 'data.when', /date/],
    // The first year that expressions can read.
    [{ people: 3, born: '0000-12-31' }, 'data.born', /year 0001 or later/],
    [{ people: 3, where: 'above' }, 'data.where', /must be one of/],
    [{ people: 3, constructor: 1 }, 'data.constructor', 'is not a field of this form'],
    [null, 'data', 'must be an object'],
    ['people=3', 'data', 'must be an object'],
  ])('%o is refused and names %s: %s', (values, path, reason) => {
    try {
      submit(values)
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        code: 'VALIDATION',
        details: expect.arrayContaining([{ path, reason: expect.stringMatching(reason) }]),
      })
    }
  })

  test('together hold at most 256 KiB', () => {
    const many = Array.from({ length: 30 }, (_, nth) => ({ name: `n${nth}`, label: 'N', kind: 'text', maxLength: 10_000 }))
    const { on } = play(['s > f1 > e', { f1: { fields: many } }])
    const values = Object.fromEntries(many.map(({ name }) => [name, 'x'.repeat(10_000)]))
    expect(codeOf(() => on({ type: 'submit', elementId: 'f1', by: 'ben', values }))).toBe('PAYLOAD_TOO_LARGE')
  })
})

describe('time', () => {
  test('a due time warns at 80 % and escalates at its end; the work stays open', () => {
    const { on, token, look, run } = play(['s > t1 > e', { t1: { dueAt: 'PT10H', escalationRole: 'principal' } }])
    expect(look()).toEqual(['opened t1', 'timer_set', 'timer_set'])
    on({ type: 'timer', tokenId: token('t1'), name: 'warn' }, later(480))
    on({ type: 'timer', tokenId: token('t1'), name: 'due' }, later(600))
    expect([look(), run().tokens[0]?.escalated]).toEqual([['sla_warning t1', 'escalated t1'], true])
    on(complete('t1'), later(700))
    expect(run().status).toBe('completed')
  })

  test('the timers of an element are at 80 % and at its end', () => {
    const board = compileBoard(sketch('s > t1 > e', { t1: { dueAt: 'PT10H' } }))
    const { effects } = startRun({ board, now: start }, { by: null, variables: {} })
    expect(effects.flatMap((effect) => (effect.type === 'timer_set' ? [[effect.name, effect.at]] : []))).toEqual([
      ['warn', later(480)],
      ['due', later(600)],
    ])
  })

  test.each([
    ['PT30S', 0.5],
    ['PT90M', 90],
    ['PT1H30M', 90],
    ['P1DT2H', 26 * 60],
    ['P2D', 48 * 60],
    ['P1W', 7 * 24 * 60],
    ['2026-11-23T09:00:00Z', 60],
  ])('%s is a time', (dueAt, minutes) => {
    expect(play(['s > t1 > e', { t1: { dueAt } }]).run().tokens[0]?.dueAt).toBe(later(minutes))
  })

  test.each(['', 'P', 'PT', 'P1M', '1h', 'tomorrow', '2026-13-01T00:00:00Z'])('%s is none', (dueAt) => {
    expect(() => sketch('s > t1 > e', { t1: { dueAt } })).toThrow('must be a duration')
  })

  test('a timed_out edge is taken instead', () => {
    const { on, token, look } = play(['s > c1 > e; c1 -timed_out-> t1 > e', { c1: { dueAt: 'PT1H' } }])
    look()
    expect(on({ type: 'timer', tokenId: token('c1'), name: 'due' }, later(60))).toEqual(['t1'])
    expect(look()).toEqual(['closed c1', 'timers_cleared', 'opened t1'])
  })

  test('a timer of a token that is gone does nothing', () => {
    const { on, token, run } = play(['s > t1 > t2 > e', { t1: { dueAt: 'PT1H' } }])
    const old = token('t1')
    on(complete('t1'))
    const before = run()
    on({ type: 'timer', tokenId: old, name: 'due' }, later(60))
    expect(run()).toBe(before)
  })

  test('a run has a time of its own', () => {
    const { on, look, run } = play(['s > t1 > e', {}, { sla: 'P1D' }])
    expect([run().dueAt, look()]).toEqual([later(1440), ['timer_set', 'timer_set', 'opened t1']])
    on({ type: 'timer', tokenId: null, name: 'warn' }, later(1152))
    on({ type: 'timer', tokenId: null, name: 'due' }, later(1440))
    expect(look()).toEqual(['sla_warning null', 'escalated null'])
  })

  test('at the end of the time of a run what waits goes to its escalation role, once', () => {
    const roles = { t1: { escalationRole: 'principal' }, t2: { dueAt: 'PT1H', escalationRole: 'principal' } }
    const { on, token, look, run } = play(['s > p1 > t1 > j1 > e; p1 > t2 > j1; p1 > t3 > j1', roles, { sla: 'P1D' }])
    look()
    on({ type: 'timer', tokenId: token('t2'), name: 'due' }, later(60))
    on({ type: 'timer', tokenId: null, name: 'due' }, later(1440))
    expect(look()).toEqual(['escalated t2', 'escalated null', 'escalated t1'])
    expect(run().tokens.map(({ elementId, escalated }) => [elementId, escalated])).toEqual([
      ['t1', true],
      ['t2', true],
      ['t3', false],
    ])
  })

  test('an element that escalated at the end of the time of the run does nothing more at its own end', () => {
    const config = { dueAt: 'P2D', escalationRole: 'principal' }
    const { on, at, token, look, run } = play([
      's > p1 > t1 > j1 > e; p1 > t2 > j1; t2 -timed_out-> e2',
      { t1: config, t2: config },
      { sla: 'P1D' },
    ])
    on({ type: 'timer', tokenId: null, name: 'due' }, later(1440))
    look()
    const before = run()
    on({ type: 'timer', tokenId: token('t1'), name: 'due' }, later(2880))
    expect([look(), run()]).toEqual([[], before])
    on({ type: 'timer', tokenId: token('t2'), name: 'due' }, later(2880))
    expect(at()).toEqual(['t1'])
  })
})

test('a cancelled run closes everything and stays cancelled', () => {
  const { on, look, run } = play(['s > p1 > t1 > j1 > e; p1 > c1 > j1'])
  look()
  on({ type: 'cancel' })
  expect(run()).toMatchObject({ status: 'failed', failure: { code: 'CANCELLED' }, tokens: [], joins: {} })
  expect(look()).toEqual(['closed t1', 'timers_cleared', 'closed c1', 'timers_cleared', 'timers_cleared', 'ended'])
})

test('of two tokens at one element the completed task ends its own', () => {
  const board = compileBoard(sketch('s > p1 > t1 > e; p1 > t1'))
  const { run } = startRun({ board, now: start }, { by: 'anna', variables: {} })
  const [first, second] = run.tokens.map(({ id }) => id)
  const complete = (at: typeof run, tokenId?: string) =>
    stepRun({ board, now: start }, at, { type: 'complete', elementId: 't1', by: 'ben', ...(tokenId === undefined ? {} : { tokenId }) }).run
  expect(complete(run, second).tokens.map(({ id }) => id)).toEqual([first])
  expect(complete(complete(run, second)).status).toBe('completed')
})

test('texts are filled with the variables of the run; a report lists what is missing', () => {
  const board = compileBoard(
    sketch(
      's > m1 > r1 > e',
      { m1: { body: 'Alarm for {people}' }, r1: { title: 'Alarm: {place}, {who}', template: '# {people}, {note}' } },
      {
        variables: [
          { name: 'people', type: 'number' },
          { name: 'note', type: 'text' },
          { name: 'place', type: 'text' },
          { name: 'who', type: 'text' },
        ],
      },
    ),
  )
  const { effects } = startRun({ board, now: start }, { by: 'anna', variables: { people: 3, place: `Hall\n*2*\u001b${'x'.repeat(300)}` } })
  const title = `Alarm: Hall *2*\ufffd${'x'.repeat(183)}…`
  expect(effects).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: 'message', body: 'Alarm for 3' }),
      expect.objectContaining({ type: 'report', title, markdown: '# 3, (none)', missing: ['who', 'note'] }),
    ]),
  )
})

test('replaying the inputs of a run gives the same run', () => {
  const args: Parameters<typeof sketch> = ['s > p1 > t1 > j1 > c1 > e; p1 > f1 > j1']
  const inputs: RunInput[] = [complete('t1'), { type: 'submit', elementId: 'f1', by: 'ben', values: { people: 3 } }, approve('carla')]
  const [one, two] = [play(args), play(args)].map(({ on, run }): RunState => {
    for (const input of inputs) on(input)
    return run()
  })
  expect(one).toEqual(two)
  expect(one?.status).toBe('completed')
})

test('an action of another kind is refused with the actions of the element', () => {
  const { on } = play(['s > f1 > e'])
  expect(() => on({ type: 'complete', elementId: 'f1', by: 'ben' })).toThrow('fix: use submit')
})
