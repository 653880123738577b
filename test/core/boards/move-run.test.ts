import { expect, test } from 'vitest'
import { compileBoard, movedState, moveRun, type RunInput, type RunState, startRun, stepRun } from '../../../src/core/boards/index.ts'
import { runSteps } from '../../../src/core/boards/steps.ts'
import { sketch } from './sketch.ts'

type Sketch = Parameters<typeof sketch>
const now = '2026-11-23T08:00:00.000Z'
const complete = (elementId: string): RunInput => ({ type: 'complete', elementId, by: 'ben' })

/** A run of a sketched board after these inputs. */
function runOf(args: Sketch, inputs: readonly RunInput[] = [], variables: RunState['variables'] = {}) {
  const board = compileBoard(sketch(...args))
  const { run } = startRun({ board, now }, { by: 'anna', variables })
  return { board, run: inputs.reduce((state, input) => stepRun({ board, now }, state, input).run, run) }
}

type Spaces = Partial<Readonly<{ spaceId: string | null; versionSpaceId: string | null }>>

function moved({ board: from, run }: ReturnType<typeof runOf>, version: Sketch, spaces: Spaces = {}) {
  const to = compileBoard(sketch(...version))
  const { pending, faults } = runSteps(moveRun({ run, from, to, spaceId: null, versionSpaceId: null, ...spaces }))
  const retry = () => stepRun({ board: to, now }, movedState(run, { pending }), { type: 'retry', boardVersion: 2 }).run
  return { faults: faults.map(({ code, elementId }) => (elementId === null ? code : `${code} ${elementId}`)), messages: faults, retry }
}

const text = { variables: [{ name: 'size', type: 'text' }] }
const wrong = 'd1 -has(vars.size) && int(vars.size) > 10-> e1; d1 -else-> e2'
const right = "d1 -has(vars.size) && vars.size == 'large'-> t9 > e1; d1 -else-> e2"

test('a run that failed at a condition continues with the corrected one', () => {
  const failed = runOf([`s > t1 > ${wrong}`, {}, text], [complete('t1')], { size: 'large' })
  expect(failed.run.failure?.code).toBe('EXPRESSION_FAILED')
  const { faults, retry } = moved(failed, [`s > t1 > ${right}`, {}, text])
  expect(faults).toEqual([])
  expect(retry()).toMatchObject({ status: 'waiting', failure: null, tokens: [{ elementId: 't9' }], seq: failed.run.seq + 1 })
})

test('branches that wait, and those that have arrived at a join, continue', () => {
  const branches = (condition: string): Sketch => [
    `s > p1 > t1 > j1 > t5 > e9; p1 > t2 > j1; p1 > t3 > d1 -${condition}-> m1 > j1; d1 -else-> t4 > m1`,
    { m1: { room: '!room:one' } },
    requiredSize,
  ]
  const failed = runOf(branches('int(vars.size) > 10'), [complete('t1'), complete('t3')], { size: 'large' })
  expect(failed.run).toMatchObject({ status: 'failed', joins: { j1: {} }, tokens: [{ elementId: 't2' }] })
  const version = branches("vars.size == 'large'")
  const { faults, retry } = moved(failed, version)
  expect(faults).toEqual([])
  const { run, effects } = stepRun({ board: compileBoard(sketch(...version)), now }, retry(), complete('t2'))
  expect(run).toMatchObject({ failure: null, joins: {}, tokens: [{ elementId: 't5' }] })
  expect(effects.map(({ type }) => type)).toContain('opened')
})

test('a join that waited for a branch that never comes fires where the other version does not have that branch', () => {
  const failed = runOf(['s > d1 -true-> t1 > j1 > t5 > e1; d1 -else-> t2 > j1'], [complete('t1')])
  expect(failed.run.failure).toMatchObject({ code: 'DEADLOCK', elementId: 'j1' })
  expect(moved(failed, ['s > d1 -true-> t1 > j1 > t5 > e1; d1 -else-> t2 > j1']).faults).toEqual(['DEADLOCK j1'])
  const { faults, retry } = moved(failed, ['s > d1 -true-> t1 > j1 > t5 > e1; d1 -else-> t2 > e2'])
  expect(faults).toEqual([])
  expect(retry()).toMatchObject({ failure: null, joins: {}, tokens: [{ elementId: 't5' }] })
})

const requiredSize = { variables: [{ name: 'size', type: 'text', required: true }] }
const failing = (rest: string, configs: Sketch[1] = {}) =>
  runOf([`s > p1 > t1 > d1 -int(vars.size) > 10-> e1; d1 -else-> e2; p1 > ${rest}`, configs, requiredSize], [complete('t1')], {
    size: 'large',
  })
const corrected = (rest: string, configs: Sketch[1] = {}, more: Sketch[2] = requiredSize): Sketch => [
  `s > p1 > t1 > d1 -vars.size == 'large'-> e1; d1 -else-> e2; p1 > ${rest}`,
  configs,
  more,
]

test.each<[string, ReturnType<typeof failing>, Sketch, string[], Spaces?]>([
  ['the same elements', failing('t2 > e3'), corrected('t2 > e3'), []],
  ['another text, order and field', failing('f2 > e3'), corrected('f2 > t8 > e3', { f2: { skippable: true } }), []],
  ['no place of a branch', failing('t2 > e3'), corrected('t3 > e3'), ['ELEMENT_MISSING t2']],
  ['another kind', failing('t2 > e3'), renamed(corrected('c2 > e3'), 'c2', 't2'), ['ELEMENT_MISSING t2']],
  ['another role', failing('t2 > e3'), corrected('t2 > e3', { t2: { assignedRole: 'head' } }), ['ELEMENT_CHANGED t2']],
  ['another time', failing('w2 > e3'), corrected('w2 > e3', { w2: { until: 'PT9H' } }), ['ELEMENT_CHANGED w2']],
  ['another due time', failing('t2 > e3'), corrected('t2 > e3', { t2: { dueAt: 'PT9H' } }), ['ELEMENT_CHANGED t2']],
  ['more approvals', failing('c2 > e3'), corrected('c2 > e3', { c2: { requiredApprovals: 2 } }), ['ELEMENT_CHANGED c2']],
  ['no failed element', failing('t2 > e3'), ['s > p1 > t1 > e1; p1 > t2 > e3', {}, requiredSize], ['ELEMENT_MISSING d1']],
  ['no variable', failing('t2 > e3'), ['s > p1 > t1 > d1 -1 > 2-> e1; d1 -else-> e2; p1 > t2 > e3'], ['VARIABLE_MISSING']],
  [
    'another type',
    failing('t2 > e3'),
    [
      's > p1 > t1 > d1 -vars.size > 3-> e1; d1 -else-> e2; p1 > t2 > e3',
      {},
      { variables: [{ name: 'size', type: 'number', required: true }] },
    ],
    ['VARIABLE_TYPES'],
  ],
  [
    'a condition on a value that the run does not have',
    failing('t2 > e3'),
    ['s > f1 > p1 > t1 > d1 -vars.people > 3-> e1; d1 -else-> e2; p1 > t2 > e3', {}, requiredSize],
    ['VARIABLE_UNGUARDED d1'],
  ],
  ['a condition on a value that a form will set', failing('t2 > e3'), corrected('t2 > f3 > d3 -vars.people > 3-> e3; d3 -else-> e4'), []],
  [
    'a join of a branch that the run does not have',
    failing('t2 > e3'),
    ["s > p1 > t1 > d1 -vars.size == 'large'-> e1; d1 -else-> e2; p1 > t2 > j1 > e3; p1 > t7 > j1", {}, requiredSize],
    ['DEADLOCK j1'],
  ],
  [
    'two branches that meet',
    failing('t2 > e3'),
    ["s > t1 > d1 -vars.size == 'large'-> t2 > e1; d1 -else-> e2", {}, requiredSize],
    ['TOKENS_MEET t2'],
  ],
  [
    'file fields that were lost',
    failing('f2 > e3', { f2: { fields: [{ name: 'plan', label: 'Plan', kind: 'file' }] } }),
    corrected('f2 > e3'),
    ['FILES_MISSING f2'],
  ],
  ['a message without a space', failing('t2 > e3'), corrected('t2 > m2 > e3'), ['SPACE_MISSING m2']],
  ['a message in the space', failing('t2 > e3'), corrected('t2 > m2 > e3'), [], { spaceId: 'spc_1', versionSpaceId: 'spc_1' }],
  ['another space', failing('t2 > e3'), corrected('t2 > e3'), ['SPACE_CHANGED'], { spaceId: 'spc_1', versionSpaceId: 'spc_2' }],
])('%s', (_, failed, version, expected, spaces) => {
  expect(failed.run.failure?.code).toBe('EXPRESSION_FAILED')
  const { faults, retry } = moved(failed, version, spaces)
  expect(faults).toEqual(expected)
  if (expected.length === 0) expect(retry().failure).toBeNull()
})

/** The sketch with another id of an element: the first letter of an id is its kind. */
function renamed([board, configs, more]: Sketch, from: string, to: string): Sketch {
  const { elements, edges, ...rest } = sketch(board, configs, more)
  const named = (id: string) => (id === from ? to : id)
  return [
    '',
    {},
    {
      ...rest,
      elements: elements.map((one) => ({ ...one, id: named(one.id) })),
      edges: edges.map((one) => ({ ...one, source: named(one.source), target: named(one.target) })),
    },
  ]
}
