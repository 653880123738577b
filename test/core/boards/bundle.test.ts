import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { BoardDefinition, type BoardElement, boardFromBundle, bundleOf, FlowBundle } from '../../../src/core/boards/index.ts'
import { sketch } from './sketch.ts'

const stored = resolve(import.meta.dirname, '../../../docs/process-engine-v1.schema.json')
const schema = () => ({
  ...{ title: 'svc.process-engine/v1', description: 'Bundle of a flow board. Generated from src/core/boards/bundle.ts.' },
  ...z.toJSONSchema(FlowBundle, { io: 'input', unrepresentable: 'any', reused: 'ref' }),
})

const id = fc.constantFrom('a', 'b', 'column-1', 'Start', 'x_9', '0')
const order = fc.nat(3)
const role = fc.constantFrom('teacher', { role: 'head' }, { role: 'deputy' })
const room = fc.constantFrom('space', '!hall:school', '!yard:school', { room: 'room1' }, { room: 'staff' })
const config: Readonly<Record<string, fc.Arbitrary<object>>> = {
  start: fc.constant({}),
  task: fc.record({ assignedRole: role, dueAt: fc.constantFrom('PT4H', undefined), skippable: fc.boolean() }),
  checkpoint: fc.record({ assignedRole: role, escalationRole: role, requiredApprovals: fc.integer({ min: 1, max: 3 }) }),
  form: fc.record({ assignedRole: role, fields: fc.constant([{ name: 'people', label: 'People', kind: 'number', min: 1 }]) }),
  message: fc.record({ room, body: fc.constant('{people} people') }),
  report: fc.constant({ title: 'Report', template: '# {people}' }),
  end: fc.record({ terminate: fc.boolean() }),
}
const element = fc
  .constantFrom(...Object.keys(config))
  .chain((kind) =>
    fc.record({ kind: fc.constant(kind), label: fc.constant(kind), sortOrder: order, config: config[kind] as fc.Arbitrary<object> }),
  )
const condition = fc.constantFrom({ type: 'always' }, { type: 'else' }, { type: 'expression', expression: 'vars.people > 1' })

/** Boards of any shape whose ids are there and not repeated; the names of columns and elements overlap. */
const board = fc
  .record({ columnIds: fc.uniqueArray(id, { maxLength: 3 }), elementIds: fc.uniqueArray(id, { minLength: 1 }) })
  .chain(({ columnIds, elementIds }) =>
    fc.record({
      columns: fc.tuple(...columnIds.map((one) => fc.record({ id: fc.constant(one), name: fc.constant(`In ${one}`), sortOrder: order }))),
      elements: fc.tuple(
        ...elementIds.map((one) =>
          fc.tuple(element, fc.constantFrom(null, ...columnIds)).map(([own, columnId]) => ({ ...own, id: one, columnId })),
        ),
      ),
      edges: fc.uniqueArray(
        fc.record({
          id: fc.constantFrom('e1', 'e2', 'e10', 'z', 'A'),
          ...{ source: fc.constantFrom(...elementIds), target: fc.constantFrom(...elementIds), condition, sortOrder: order },
        }),
        { selector: (edge) => edge.id },
      ),
      variables: fc.constantFrom([], [{ name: 'people', type: 'number', required: true }]),
      startRoles: fc.array(role, { maxLength: 2 }),
      sla: fc.constantFrom(null, 'P2D'),
      retentionDays: fc.constantFrom(30, 365),
      bindings: fc.record({ roles: fc.constantFrom({}, { head: 'teacher' }), rooms: fc.constant({}) }),
    }),
  )
  .map((one) => BoardDefinition.parse(one))

/** A board without the ids of columns and edges, and with rooms in place of their parameters. */
function content({ columns, elements, edges, ...rest }: BoardDefinition, rooms: Readonly<Record<string, string>>) {
  const bound = (own: BoardElement): BoardElement => {
    if (own.kind !== 'message' || typeof own.config.room === 'string') return own
    return { ...own, config: { ...own.config, room: rooms[own.config.room.room] ?? own.config.room } }
  }
  return {
    ...rest,
    bindings: { ...rest.bindings, rooms: {} },
    columns: columns.map(({ name, sortOrder }) => ({ name, sortOrder })),
    elements: elements.map(({ columnId, ...own }) => ({
      ...bound(own as BoardElement),
      column: columns.findIndex((one) => one.id === columnId),
    })),
    edges: edges.toSorted((a, b) => a.sortOrder - b.sortOrder).map(({ id: _, ...edge }) => edge),
  }
}

describe('a bundle', () => {
  test('that was exported is imported as the same board but for ids, and matches its schema', () => {
    const matches = new Ajv2020({ validateFormats: false, strict: false }).compile(schema())
    fc.assert(
      fc.property(board, (definition) => {
        const bundle = JSON.parse(JSON.stringify(bundleOf({ name: 'Crisis', description: 'What to do', definition }))) as unknown
        expect(matches(bundle), JSON.stringify(matches.errors)).toBe(true)
        expect(JSON.stringify(bundle)).not.toMatch(/!hall|!yard/)
        const read = boardFromBundle(FlowBundle.parse(bundle))
        expect([read.name, read.description]).toEqual(['Crisis', 'What to do'])
        expect(BoardDefinition.parse(read.definition)).toEqual(read.definition)
        const hidden = definition.elements.flatMap((own) =>
          own.kind === 'message' && typeof own.config.room === 'string' ? [own.config.room] : [],
        )
        const literal = [...new Set(hidden.filter((one) => one !== 'space'))]
        const free = ['room1', 'room2', 'room3'].filter((name) => !JSON.stringify(definition).includes(`"${name}"`))
        const rooms = Object.fromEntries(literal.map((one, nth) => [free[nth] as string, one]))
        expect(content(read.definition, rooms)).toEqual(content(definition, {}))
        const again = bundleOf({ ...read, definition: read.definition })
        expect(again).toEqual(bundle)
      }),
      { numRuns: 300 },
    )
  })

  test('needs no `config` for elements without settings, and is exported with it', () => {
    const definition = sketch('s > p1 > d1 > e; p1 > j1; d1 -else-> j1; j1 > e2')
    const full = bundleOf({ name: 'A', description: '', definition })
    const components = full.templateExport.components.map(({ config: _, ...rest }) => rest)
    const short = { templateExport: { ...full.templateExport, components } }
    expect(new Ajv2020({ validateFormats: false, strict: false }).compile(schema())(short)).toBe(true)
    expect(FlowBundle.parse(short)).toEqual(full)
    const elements = definition.elements.map(({ config: _, ...rest }) => rest)
    expect(BoardDefinition.parse({ ...definition, elements })).toEqual(definition)
    const task = { id: 'a', kind: 'task', label: 'A' }
    expect(BoardDefinition.safeParse({ elements: [task], edges: [] }).error?.issues).toMatchObject([{ path: ['elements', 0, 'config'] }])
  })

  test('has bindings for its own parameters alone; those of the caller go first', () => {
    const definition = sketch('s > t1 > m1 > e', { t1: { assignedRole: { role: 'head' } }, m1: { room: '!hall:school' } })
    const bundle = bundleOf({
      name: 'A',
      description: '',
      definition: { ...definition, bindings: { roles: { head: 'teacher' }, rooms: {} } },
    })
    const bindings = { roles: { head: 'principal' }, rooms: { room1: '!yard:school' } }
    expect(boardFromBundle(bundle, bindings).definition.bindings).toEqual(bindings)
    expect(boardFromBundle(bundle).definition.bindings).toEqual({ roles: { head: 'teacher' }, rooms: {} })
    expect(() => boardFromBundle(bundle, { roles: { haed: 'principal' }, rooms: {} })).toThrow(
      'bindings.roles.haed: is not a parameter of the bundle',
    )
  })

  test('names the room of a chat trigger by the parameter of its messages', () => {
    const triggers = [{ id: 'alarm', kind: 'chat', phrases: ['alarm'], room: '!hall:school' }]
    const definition = sketch('s > m1 > e', { m1: { room: '!hall:school' } }, { triggers })
    const read = boardFromBundle(bundleOf({ name: 'A', description: '', definition }), { roles: {}, rooms: { room1: '!yard:school' } })
    expect(JSON.stringify(read)).not.toContain('!hall')
    expect(read.definition.triggers).toMatchObject([{ room: { room: 'room1' } }])
    expect(read.definition.elements.find(({ id }) => id === 'm1')?.config).toMatchObject({ room: { room: 'room1' } })
  })

  test.each([
    ['a repeated id', { elements: [...sketch('s > e').elements, ...sketch('s > e').elements] }],
    ['an edge to nowhere', { edges: [{ ...sketch('s > e').edges[0], target: 'nowhere' }] }],
    ['a column that is not there', { elements: sketch('s > e').elements.map((one) => ({ ...one, columnId: 'nowhere' })) }],
  ])('is not made of a board with %s', (_, change) => {
    const definition = { ...sketch('s > e'), ...change } as BoardDefinition
    expect(() => bundleOf({ name: 'A', description: '', definition })).toThrow('"A" cannot be exported')
  })
})

test('the schema in the documentation is generated: npx vitest run test/core/boards/bundle.test.ts -u', async () => {
  await expect(`${JSON.stringify(schema(), null, 2)}\n`).toMatchFileSnapshot(stored)
})

test('the schema refuses what the program refuses', () => {
  const matches = new Ajv2020({ validateFormats: false, strict: false }).compile(JSON.parse(readFileSync(stored, 'utf8')) as object)
  const good = bundleOf({ name: 'A', description: '', definition: sketch('s > t1 > e') })
  const change = (more: object) => ({ templateExport: { ...good.templateExport, ...more } })
  expect(matches(good)).toBe(true)
  for (const bad of [
    change({ format: 'svc.process-engine/v2' }),
    change({ components: [{ _localId: 'a', kind: 'robot', label: 'A', config: {} }] }),
    change({ components: [{ _localId: 'a b', kind: 'start', label: 'A', config: {} }] }),
    change({ edges: [{ sourceLocalId: 's' }] }),
    change({ script: 'x' }),
    {},
  ]) {
    expect(matches(bad)).toBe(false)
    expect(FlowBundle.safeParse(bad).success).toBe(false)
  }
})
