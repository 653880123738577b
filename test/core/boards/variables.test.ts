import { expect, test } from 'vitest'
import { graphOf } from '../../../src/core/boards/graph.ts'
import { BoardDefinition, checkBoard } from '../../../src/core/boards/index.ts'
import { maxFoldWork, tokenGraph } from '../../../src/core/boards/token-graph.ts'
import { certainVariables, maxVariableWork } from '../../../src/core/boards/variables.ts'
import { sketch } from './sketch.ts'

const bare = (id: string, kind: string, config: object = {}) => ({ id, kind, label: id, config })
const name = (nth: number) => `v${nth}`
const form = (id: string, names: readonly string[]) => {
  const fields = names.map((one) => ({ name: one, label: '-', kind: 'number', required: true }))
  return bare(id, 'form', { assignedRole: 'r', fields })
}

type Size = Readonly<{ names: number; decisions: number; messages: number; reads: number }>

/**
 * A chain of forms sets all names. Each decision may lead to a form that sets all but one, and then into a long chain: a computation that
 * follows each loss of a name through the chain takes decisions x messages x names.
 */
function hostileBoard({ names, decisions, messages, reads }: Size): BoardDefinition {
  const all = Array.from({ length: names }, (_, nth) => name(nth))
  const elements: object[] = [bare('start', 'start'), bare('end', 'end')]
  const edges: object[] = []
  const edge = (source: string, target: string, expression?: string) =>
    edges.push({
      ...{ id: `e${edges.length}`, source, target, sortOrder: edges.length },
      condition: expression === undefined ? { type: source.startsWith('d') ? 'else' : 'always' } : { type: 'expression', expression },
    })
  let last = 'start'
  const add = (element: { id: string }) => {
    elements.push(element)
    edge(last, element.id)
    last = element.id
  }
  for (let nth = 0; nth < names; nth += 200) add(form(`f${nth}`, all.slice(nth, nth + 200)))
  for (let nth = 0; nth < decisions; nth++) {
    add(bare(`d${nth}`, 'decision'))
    const readNames = Array.from({ length: reads }, (_, one) => name((nth * reads + one) % names))
    edge(`d${nth}`, 'm0', readNames.map((one) => `vars.${one} > 1.0`).join(' && '))
  }
  for (let nth = 0; nth < messages; nth++) add(bare(`m${nth}`, 'message', { room: 'space', body: '-' }))
  edge(last, 'end')
  return BoardDefinition.parse({ elements, edges })
}

const readBy = ({ elements, edges, variables }: BoardDefinition, names: number) =>
  certainVariables({ variables }, graphOf({ elements, edges }), new Set(Array.from({ length: names }, (_, nth) => name(nth))))

test.each<[string, Size, number]>([
  ['1 MB, as strangers may send it', { names: 6_000, decisions: 600, messages: 1_300, reads: 10 }, 1_048_576],
  ['4 MB, as tenants may save it', { names: 40_000, decisions: 900, messages: 850, reads: 50 }, 4_194_304],
])('variables of a board of %s are computed within the budget', (_, size, bytes) => {
  const board = hostileBoard(size)
  expect(JSON.stringify(board).length).toBeLessThan(bytes * 1.6) // defaults are filled in
  const certain = readBy(board, size.names)
  expect(certain.work).toBeLessThanOrEqual(maxVariableWork + size.names)
  expect(certain.isKnown).toBe(size.names < 10_000)
})

test('a board of 1 MB is folded within the budget', () => {
  const board = hostileBoard({ names: 6_000, decisions: 600, messages: 1_300, reads: 10 })
  const work = { left: maxFoldWork }
  tokenGraph(graphOf(board), 'start', work)
  expect(work.left).toBeGreaterThan(-maxFoldWork / 10)
})

test('names that no condition reads cost nothing', () => {
  const board = hostileBoard({ names: 2_000, decisions: 200, messages: 1_000, reads: 1 })
  const { work, isKnown } = certainVariables(board, graphOf(board), new Set(['v1']))
  expect(isKnown).toBe(true)
  expect(work).toBeLessThan(10 * board.edges.length)
})

test('beyond the budget the check warns, and no variable counts as certain', () => {
  const forms = Array.from({ length: 10 }, (_, nth) => `f${nth}`)
  const tasks = Array.from({ length: 300 }, (_, nth) => `t${nth}`)
  const namesOf = (nth: number) => Array.from({ length: 200 }, (_, one) => name(nth * 200 + one))
  const reads = (from: number) => Array.from({ length: 50 }, (_, one) => `vars.${name(from + one)} > 1.0`).join(' && ')
  const board = sketch(
    [
      // The loss of all names travels back along the tasks, one task in each pass.
      `s > d0 -else-> ${[...forms, ...tasks].join(' > ')} > d1 -else-> e; d0 -1 > 2-> t299`,
      ...tasks.slice(1).map((task, nth) => `${task} -timed_out-> ${tasks[nth]}`),
      ...Array.from({ length: 40 }, (_, nth) => `d1 -${reads(nth * 50)}-> e`),
    ].join(';'),
    {
      ...Object.fromEntries(forms.map((id, nth) => [id, form(id, namesOf(nth)).config])),
      ...Object.fromEntries(tasks.map((id) => [id, { assignedRole: 'r', dueAt: 'PT1H' }])),
    },
  )
  const codes = new Set(checkBoard(board, { roles: new Set(['r']), rooms: new Set() }).map(({ severity, code }) => `${severity} ${code}`))
  expect(codes).toContain('warning TOO_MANY_VARIABLES')
  expect(codes).toContain('error VARIABLE_UNGUARDED')
})
