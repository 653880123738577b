import { expect, test } from 'vitest'
import { passedElements } from '../../src/console/boards/passed.ts'

type Board = Parameters<typeof passedElements>[0]
type Run = Parameters<typeof passedElements>[1]

/** `ways`: edges like `f>p`, with another condition than always like `c>d:rejected`. */
const aBoard = (kinds: Readonly<Record<string, string>>, ways: string): Board =>
  ({
    elements: Object.entries(kinds).map(([id, kind]) => ({ id, kind, label: id, columnId: null })),
    edges: ways.split(' ').map((way) => {
      const [, source, target, condition = 'always'] = /^(\w)>(\w)(?::(\w+))?$/.exec(way) as string[]
      return { source, target, condition }
    }),
  }) as unknown as Board
const passedIn = (board: Board) => (done: string, active: string, status: Run['status']) =>
  [...passedElements(board, { doneElementIds: [...done], activeElementIds: [...active], status })].toSorted().join('')

test('a split is passed once an element behind it is reached, a join once the run is behind it', () => {
  const kinds = { s: 'start', f: 'form', p: 'parallel_split', a: 'task', b: 'task', j: 'parallel_join', e: 'end' }
  const passed = passedIn(aBoard(kinds, 's>f f>p p>a p>b a>j b>j j>e'))
  expect(passed('', 'f', 'waiting')).toBe('s')
  expect(passed('f', 'ab', 'waiting')).toBe('fps')
  expect(passed('fa', 'b', 'waiting')).toBe('afps')
  expect(passed('fab', '', 'completed')).toBe('abefjps')
})

test('a message, decision, report and end are passed if the run came by no other way', () => {
  const kinds = {
    ...{ s: 'start', f: 'form', p: 'parallel_split', i: 'message', c: 'checkpoint', o: 'task', m: 'message', t: 'task' },
    ...{ j: 'parallel_join', d: 'decision', x: 'task', r: 'report', e: 'end' },
  }
  const ways = 's>f f>p p>i p>c p>t i>j c>m:approved c>o:rejected o>m m>j t>j j>d d>x:expression d>r:else x>r r>e'
  const passed = passedIn(aBoard(kinds, ways))
  expect(passed('f', 'ct', 'waiting')).toBe('fips')
  expect(passed('fc', 't', 'waiting')).toBe('cfips')
  expect(passed('fco', 't', 'waiting')).toBe('cfimops')
  expect(passed('fct', 'x', 'waiting')).toBe('cdfijmpst')
  expect(passed('fct', '', 'completed')).toBe('cdefijmprst')
  expect(passed('fctx', '', 'completed')).toBe('cdefijmprstx')
  expect(passed('fct', '', 'failed')).toBe('cfpst')
})

test('of two ways by which the run may have come, none is passed', () => {
  const kinds = { s: 'start', f: 'form', d: 'decision', m: 'message', n: 'message', t: 'task', e: 'end', g: 'end' }
  const passed = passedIn(aBoard(kinds, 's>f f>d d>m:expression d>n:else m>t n>t t>e'))
  expect(passed('f', 't', 'waiting')).toBe('dfs')
  expect(passed('ft', '', 'completed')).toBe('defst')
  expect(passedIn(aBoard(kinds, 's>f f>d d>e:expression d>g:else'))('f', '', 'completed')).toBe('dfs')
})

test('a form whose time ended is not done, but the timer behind it is passed', () => {
  const kinds = { s: 'start', f: 'form', w: 'timer', m: 'message', t: 'task', e: 'end' }
  const passed = passedIn(aBoard(kinds, 's>f f>e f>w:timed_out w>m m>t t>e'))
  expect(passed('', 'w', 'running')).toBe('s')
  expect(passed('', 't', 'waiting')).toBe('msw')
  expect(passed('f', '', 'completed')).toBe('efs')
})

test('an end may stop what stands behind a split', () => {
  const kinds = { s: 'start', f: 'form', p: 'parallel_split', m: 'message', w: 'timer', e: 'end', g: 'end' }
  const passed = passedIn(aBoard(kinds, 's>f f>p p>e p>m m>w w>g'))
  expect(passed('f', 'w', 'running')).toBe('efmps')
  expect(passed('f', '', 'completed')).toBe('fps')
})
