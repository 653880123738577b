import { z } from 'zod'
import { type FieldReason, problem } from '../kit/index.ts'
import {
  type BoardBindings,
  BoardDefinition,
  BoardEdge,
  BoardElement,
  BoardLocalId,
  boardLimits,
  isWork,
  Label,
  Order,
  type RoleRef,
  type RoomRef,
} from './definition.ts'
import { byOrder } from './graph.ts'

// The flow bundle of spec 2.9: columns are components of the kind `column`, and an element names its column by `groupLocalId`. Room ids are
// those of one tenant, so a bundle has parameters in their place.

const bundleFormat = 'svc.process-engine/v1'

const text = z
  .string()
  .max(4_000)
  .regex(/^[^\0]*$/, 'must not contain NUL')

const ids = { _localId: BoardLocalId, groupLocalId: BoardLocalId.nullable().default(null) }
const Column = z.strictObject({
  ...ids,
  kind: z.literal('column'),
  label: Label,
  config: z.strictObject({}).default({}),
  sortOrder: Order.default(0),
})
const elements = BoardElement.options.map((one) => one.omit({ id: true, columnId: true }).extend(ids))

type Grouped<One> = One extends unknown ? Omit<One, 'id' | 'columnId'> & { _localId: string; groupLocalId: string | null } : never
type Component = z.infer<typeof Column> | Grouped<BoardElement>

const Component = z.discriminatedUnion('kind', [Column, ...elements] as never, {
  error: `must be a column or one of ${BoardElement.options.map(({ shape }) => shape.kind.value).join(', ')}`,
}) as unknown as z.ZodType<Component, unknown>

const Edge = z.strictObject({
  sourceLocalId: BoardLocalId,
  targetLocalId: BoardLocalId,
  condition: BoardEdge.shape.condition,
  sortOrder: Order.default(0),
})

const Metadata = BoardDefinition.omit({ columns: true, elements: true, edges: true })

export const FlowBundle = z.strictObject({
  templateExport: z.strictObject({
    format: z.literal(bundleFormat),
    template: z.strictObject({
      appKind: z.string().max(80).default('cascade-board'),
      name: z.string().trim().min(1).max(200),
      description: text.default(''),
      metadata: Metadata.prefault({}),
    }),
    components: z.array(Component).max(boardLimits.elements + boardLimits.columns),
    edges: z.array(Edge).max(boardLimits.edges),
  }),
})
export type FlowBundle = z.infer<typeof FlowBundle>

type Template = Readonly<{ name: string; description: string; definition: BoardDefinition }>

/** The bundle of a board. Throws BOARD_INVALID for a board whose ids are repeated or missing: its bundle could not be imported. */
export function bundleOf({ name, description, definition }: Template): FlowBundle {
  const { columns, elements: own, edges, bindings, ...settings } = definition
  const groups = columnIds(definition)
  const withoutRoom = roomParameters(definition)
  const components: Component[] = [
    ...columns.map(({ id, name: label, sortOrder }) => ({
      ...{ _localId: groups.get(id) as string, groupLocalId: null, kind: 'column' as const, label, config: {}, sortOrder },
    })),
    ...own.map(({ id, columnId, ...element }) => {
      const groupLocalId = columnId === null ? null : (groups.get(columnId) ?? columnId)
      const component = { _localId: id, groupLocalId, ...element } as Grouped<BoardElement>
      if (component.kind !== 'message') return component
      return { ...component, config: { ...component.config, room: withoutRoom(component.config.room) } }
    }),
  ]
  const links = edges.toSorted(byOrder).map(({ source, target, ...edge }) => ({
    ...{ sourceLocalId: source, targetLocalId: target, condition: edge.condition, sortOrder: edge.sortOrder },
  }))
  const triggers = settings.triggers.map((one) => (one.kind === 'chat' ? { ...one, room: withoutRoom(one.room) } : one))
  const metadata = { ...settings, triggers, bindings: { roles: bindings.roles, rooms: {} } }
  const template = { appKind: 'cascade-board', name, description, metadata }
  const faults = linkFaults(components, links)
  if (faults.length > 0)
    throw problem('BOARD_INVALID', `"${name}" cannot be exported: ${faults[0]?.reason}. fix: check the board, which lists the faults`, {
      violations: faults.slice(0, maxReasons).map(({ path, reason }) => `${path}: ${reason}`),
    })
  return { templateExport: { format: bundleFormat, template, components, edges: links } }
}

const maxReasons = 100

/** Local ids of the columns. Elements and columns share one namespace in a bundle, so a column whose id is taken gets another one. */
function columnIds({ columns, elements: own }: BoardDefinition): Map<string, string> {
  const used = new Set(own.map(({ id }) => id))
  const all = new Set([...used, ...columns.map(({ id }) => id)])
  let last = 0
  const fresh = (): string => {
    do last += 1
    while (all.has(`column-${last}`))
    return `column-${last}`
  }
  return new Map(columns.map(({ id }) => [id, used.has(id) ? fresh() : id]))
}

/** Replaces a room id by a parameter, one per room. */
function roomParameters(definition: BoardDefinition): (room: RoomRef) => RoomRef {
  const used = parametersOf(definition).rooms
  const named = new Map<string, string>()
  const nameOf = (room: string): string => {
    for (let nth = named.size + 1; !named.has(room); nth++) if (!used.has(`room${nth}`)) named.set(room, add(used, `room${nth}`))
    return named.get(room) as string
  }
  return (room) => (typeof room !== 'string' || room === 'space' ? room : { room: nameOf(room) })
}

const add = (names: Set<string>, name: string): string => {
  names.add(name)
  return name
}

type Parameters = Readonly<Record<keyof BoardBindings, Set<string>>>

/** The parameters of a template by kind. */
function parametersOf({ elements: own, startRoles, triggers }: Pick<BoardDefinition, 'elements' | 'startRoles' | 'triggers'>): Parameters {
  const found = { roles: new Set<string>(), rooms: new Set<string>() }
  const role = (ref: RoleRef | undefined) => typeof ref === 'object' && found.roles.add(ref.role)
  startRoles.forEach(role)
  for (const one of triggers) if (one.kind === 'chat' && typeof one.room === 'object') found.rooms.add(one.room.room)
  for (const element of own) {
    if (isWork(element)) [element.config.assignedRole, element.config.escalationRole].forEach(role)
    if (element.kind === 'message' && typeof element.config.room === 'object') found.rooms.add(element.config.room.room)
  }
  return found
}

type Links = FlowBundle['templateExport']['edges']

/** Ids that are repeated or missing, and groups that are no column. A column in a column is one of them, so groups never form a cycle. */
function linkFaults(components: readonly Component[], edges: Links): FieldReason[] {
  const kinds = new Map(components.map(({ _localId, kind }) => [_localId, kind]))
  const seen = new Set<string>()
  const at = (nth: number, field: string, reason: string): FieldReason => ({ path: `components.${nth}.${field}`, reason })
  const missing = (path: string, id: string): FieldReason[] => {
    const kind = kinds.get(id)
    if (kind !== undefined && kind !== 'column') return []
    return [{ path, reason: kind ? `names the column ${id}; an edge joins elements` : `names ${id}, which does not exist` }]
  }
  const counts = { column: 0, element: 0 }
  return [
    ...components.flatMap(({ _localId: id, groupLocalId: group, kind }, nth) => {
      counts[kind === 'column' ? 'column' : 'element'] += 1
      const repeated = seen.has(id) ? [at(nth, '_localId', `the id ${id} is used more than once`)] : []
      seen.add(id)
      if (group === null) return repeated
      if (kind === 'column')
        return [...repeated, at(nth, 'groupLocalId', `the column ${id} is in the group ${group}; columns have no group`)]
      if (kinds.get(group) === 'column') return repeated
      const reason = kinds.has(group) ? `names ${group}, which is not a column` : `names ${group}, which does not exist`
      return [...repeated, at(nth, 'groupLocalId', reason)]
    }),
    ...edges.flatMap(({ sourceLocalId, targetLocalId }, nth) => [
      ...missing(`edges.${nth}.sourceLocalId`, sourceLocalId),
      ...missing(`edges.${nth}.targetLocalId`, targetLocalId),
    ]),
    ...(counts.column > boardLimits.columns ? [{ path: 'components', reason: `must have at most ${boardLimits.columns} columns` }] : []),
    ...(counts.element > boardLimits.elements
      ? [{ path: 'components', reason: `must have at most ${boardLimits.elements} elements` }]
      : []),
  ]
}

/**
 * The board of a bundle, in two passes: elements without their columns, then columns and edges through the ids (spec 4.8). `bindings` go
 * before those of the bundle. Throws VALIDATION for ids that are repeated or missing and for a binding of no parameter.
 */
export function boardFromBundle({ templateExport }: FlowBundle, bindings: BoardBindings = { roles: {}, rooms: {} }): Template {
  const { template, components, edges } = templateExport
  assertNone(linkFaults(components, edges).map(({ path, reason }) => ({ path: `bundle.templateExport.${path}`, reason })))
  const { bindings: stored, ...settings } = template.metadata
  const ungrouped = components.flatMap((component) => {
    if (component.kind === 'column') return []
    const { _localId: id, groupLocalId: _, ...element } = component
    return [{ id, columnId: null, ...element } as BoardElement]
  })
  const parameters = parametersOf({ ...settings, elements: ungrouped })
  assertNone(
    (['roles', 'rooms'] as const).flatMap((kind) =>
      Object.keys(bindings[kind])
        .filter((name) => !parameters[kind].has(name))
        .map((name) => ({ path: `bindings.${kind}.${name}`, reason: 'is not a parameter of the bundle' })),
    ),
  )
  const groups = new Map(components.map(({ _localId, groupLocalId }) => [_localId, groupLocalId]))
  const definition: BoardDefinition = {
    ...settings,
    columns: components.flatMap(({ kind, _localId: id, label: name, sortOrder }) => (kind === 'column' ? [{ id, name, sortOrder }] : [])),
    elements: ungrouped.map((element) => ({ ...element, columnId: groups.get(element.id) ?? null })),
    edges: edges.map(({ sourceLocalId: source, targetLocalId: target, ...edge }, nth) => ({ id: edgeId(nth), source, target, ...edge })),
    bindings: { roles: { ...stored.roles, ...bindings.roles }, rooms: { ...stored.rooms, ...bindings.rooms } },
  }
  return { name: template.name, description: template.description, definition }
}

const edgeId = (nth: number): string => `edge-${String(nth + 1).padStart(4, '0')}`

function assertNone(faults: readonly FieldReason[]): void {
  const [first] = faults
  if (!first) return
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  throw problem('VALIDATION', `${first.path}: ${first.reason}${more}`, { details: faults.slice(0, maxReasons) })
}

/** Room ids that a board names, with the places that name them. */
export function roomsNamed({ elements: own, triggers, bindings }: BoardDefinition): { path: string; room: string }[] {
  return [
    ...own.flatMap(({ id, config }) =>
      'room' in config && typeof config.room === 'string' && config.room !== 'space'
        ? [{ path: `elements.${id}.room`, room: config.room }]
        : [],
    ),
    ...triggers.flatMap((one) =>
      one.kind === 'chat' && typeof one.room === 'string' && one.room !== 'space'
        ? [{ path: `triggers.${one.id}.room`, room: one.room }]
        : [],
    ),
    ...Object.entries(bindings.rooms).map(([name, room]) => ({ path: `bindings.rooms.${name}`, room })),
  ]
}
