import { z } from 'zod'
import { TimeInput } from '../contract/index.ts'

/** Limits of one board. `variables`: different names in all its forms and its start. */
export const boardLimits = {
  elements: 2_000,
  edges: 5_000,
  fields: 200,
  variables: 2_000,
  columns: 50,
  triggers: 20,
  /** All published boards of a tenant together. */
  triggersOfTenant: 200,
  /** Runs of a tenant per hour that events of other runs start: five runs deep, a board whose runs cause ten events each grows to 10,000. */
  chainedStarts: 1_000,
  /** Shortest wait of a loop without users. */
  loopWaitMs: 60_000,
  /** All runs of a tenant together; a start that sets timers beyond them is refused. */
  timersOfTenant: 10_000,
  /** Saved versions of a board; older ones without runs are deleted. */
  versions: 100,
  /** Characters of the newest versions of a board; older ones without runs are deleted. A definition has up to 1,000,000. */
  versionText: 10_000_000,
  /** Characters of all stored versions of a tenant; a board or version that exceeds them is refused. */
  versionTextOfTenant: 200_000_000,
  /** Accepted inputs of a run: a loop of short timers, or of refused forms, would fill the history for ever. */
  inputsOfRun: 100_000,
  /** Values of all submitted forms of a run, as JSON: the history stores each of them. */
  submittedBytes: 16 * 1024 * 1024,
} as const

export const BoardLocalId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/, 'must be 1 to 80 letters, digits, "-" or "_"')
export const Label = z.string().trim().min(1).max(200)
const Name = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_]{0,39}$/,
    'must be a name of at most 40 letters a–z, digits and "_", without spaces; the label of a field may be any text',
  )
  // Every JavaScript object has these, so a missing value would look like a present one.
  .refine((name) => !(name in Object.prototype), 'must be another name: programs reserve this one')
export const Order = z.int().min(0).max(1_000_000)

/** A role of the tenant, or `{ role }`: a parameter of a template, filled by `bindings`. */
const RoleRef = z.union([z.string().min(1).max(80), z.strictObject({ role: Name })])
export type RoleRef = z.infer<typeof RoleRef>

/** `space`: the room of the space of the run; else a room id, or `{ room }`: a parameter of a template. */
const RoomRef = z.union([z.literal('space'), z.string().regex(/^!.+/, 'must be `space` or a room id'), z.strictObject({ room: Name })])
export type RoomRef = z.infer<typeof RoomRef>

const durationForm = /^P(?:(\d{1,3})W|(\d{1,4})D|(?:(\d{1,4})D)?T(?:(\d{1,5})H(?:(\d{1,6})M)?|(\d{1,6})M|(\d{1,8})S))$/

/** An ISO 8601 duration without months and years, such as `PT4H`, `P2D` or `P1DT2H30M`. */
export const Duration = z.string().regex(durationForm, 'must be a duration such as PT4H or P2D')

/** Expressions know no year 0: `timestamp()` of such a date fails, and with it the run. */
export const FormDate = z.iso.date().refine((day) => day >= '0001-01-01', 'must be a date of the year 0001 or later')

const When = z.union([Duration, TimeInput], { error: 'must be a duration such as PT4H or P2D, or a time such as 2026-11-27T08:00:00Z' })

type Parts = [number, number, number, number, number, number, number]

/** Milliseconds of a duration; undefined for any other text. */
function durationMs(text: string): number | undefined {
  const parts = durationForm.exec(text)
  if (!parts) return undefined
  const [weeks, onlyDays, days, hours, minutes, onlyMinutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0)) as Parts
  const ofDays = weeks * 7 + onlyDays + days
  return ((ofDays * 24 + hours) * 60 + minutes + onlyMinutes) * 60_000 + seconds * 1_000
}

/** Whether a loop may wait so: false for a fixed time, which passes once, and for less than a minute. */
export const isLoopWait = (text: string): boolean => (durationMs(text) ?? 0) >= boardLimits.loopWaitMs

/** The fixed moment that a valid `When` means; undefined for a duration. */
export const momentOf = (text: string): number | undefined => (durationMs(text) === undefined ? Date.parse(text) : undefined)

/** The time, ISO 8601, that a valid `When` means for something that begins at `now`. */
export function whenAt(text: string, now: string): string {
  const ms = durationMs(text)
  return new Date(ms === undefined ? Date.parse(text) : Date.parse(now) + ms).toISOString()
}

const field = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ name: Name, label: Label, required: z.boolean().default(false), kind: z.literal(kind), ...shape })

/** A field of a form; its value becomes the variable of its name. */
export const FormField = z.discriminatedUnion('kind', [
  field('text', { minLength: z.int().min(0).max(10_000).optional(), maxLength: z.int().min(1).max(10_000).default(2_000) }),
  field('number', { min: z.number().optional(), max: z.number().optional() }),
  field('date', { min: FormDate.optional(), max: FormDate.optional() }),
  field('choice', { options: z.array(z.string().trim().min(1).max(200)).min(1).max(100) }),
  field('file', {}),
  field('signature', {}),
])
export type FormField = z.infer<typeof FormField>

const times = { dueAt: When.optional(), escalationRole: RoleRef.optional() }

/** Work of the users with a role, or of the user who started the run alone. */
const worker = {
  assignedRole: RoleRef.optional(),
  assignedTo: z
    .literal('starter')
    .optional()
    .meta({ description: 'In place of `assignedRole`: only the user who started the run, and no role may read the run for it' }),
}
const hasOneWorker = ({ assignedRole, assignedTo }: Readonly<{ assignedRole?: unknown; assignedTo?: unknown }>) =>
  (assignedRole === undefined) !== (assignedTo === undefined)
const oneWorker = { path: ['assignedRole'], message: 'is required, or assignedTo: starter in its place' }
const eitherWorker = { oneOf: [{ required: ['assignedRole'] }, { required: ['assignedTo'] }] }
const none = z.strictObject({}).default({})

const element = <Kind extends string, Config extends z.ZodType>(kind: Kind, config: Config) =>
  z.strictObject({
    id: BoardLocalId,
    kind: z.literal(kind),
    label: Label,
    columnId: BoardLocalId.nullable().default(null),
    sortOrder: Order.default(0),
    config,
  })

export const BoardElement = z.discriminatedUnion('kind', [
  element('start', none),
  element(
    'task',
    z
      .strictObject({ ...worker, ...times, skippable: z.boolean().default(false) })
      .refine(hasOneWorker, oneWorker)
      .meta(eitherWorker),
  ),
  element(
    'checkpoint',
    z.strictObject({
      ...{ assignedRole: RoleRef, ...times },
      ...{ requiredApprovals: z.int().min(1).max(20).default(1), allowSelfApproval: z.boolean().default(false) },
    }),
  ),
  element(
    'form',
    z
      .strictObject({
        ...{ ...worker, ...times, skippable: z.boolean().default(false) },
        fields: z.array(FormField).min(1).max(boardLimits.fields),
      })
      .refine(hasOneWorker, oneWorker)
      .meta(eitherWorker),
  ),
  element('decision', none),
  element('parallel_split', none),
  element('parallel_join', none),
  element('timer', z.strictObject({ until: When })),
  element('message', z.strictObject({ room: RoomRef, body: z.string().trim().min(1).max(4_000) })),
  element('report', z.strictObject({ title: Label, template: z.string().min(1).max(100_000) })),
  element('end', z.strictObject({ terminate: z.boolean().default(false) }).prefault({})),
])
export type BoardElement = z.infer<typeof BoardElement>
export type ElementKind = BoardElement['kind']
export type ElementOf<Kind extends ElementKind> = Extract<BoardElement, { kind: Kind }>

/** An element that waits for a user. */
export type WorkElement = ElementOf<'task' | 'checkpoint' | 'form'>
export const isWork = (element: BoardElement): element is WorkElement =>
  element.kind === 'task' || element.kind === 'checkpoint' || element.kind === 'form'

const Condition = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['always', 'else', 'approved', 'rejected', 'timed_out']) }),
  z.strictObject({ type: z.literal('expression'), expression: z.string().trim().min(1).max(2_000) }),
])
export type ConditionType = z.infer<typeof Condition>['type']

export const BoardEdge = z.strictObject({
  id: BoardLocalId,
  source: BoardLocalId,
  target: BoardLocalId,
  condition: Condition.default({ type: 'always' }),
  sortOrder: Order.default(0),
})
export type BoardEdge = z.infer<typeof BoardEdge>

const trigger = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ id: BoardLocalId, kind: z.literal(kind), ...shape })

/** Starts a run without a person: by an event of the tenant, a message in the room of a space, or a time. */
const Trigger = z.discriminatedUnion('kind', [
  trigger('event', { eventType: z.string().min(1).max(80), expression: z.string().trim().min(1).max(2_000).nullable().default(null) }),
  trigger('chat', {
    room: RoomRef.default('space'),
    /** Words or phrases; case, accents and punctuation do not matter. */
    phrases: z.array(z.string().trim().min(1).max(100)).min(1).max(20),
    cooldownMinutes: z.int().min(0).max(1_440).default(10),
    /** The start variable that gets the text of the message; null: the text is not stored. */
    textVariable: Name.nullable().default(null),
  }),
  /** Five fields, in the time zone of the tenant. */
  trigger('cron', { expression: z.string().trim().min(9).max(100) }),
])
export type Trigger = z.infer<typeof Trigger>
export type TriggerOf<Kind extends Trigger['kind']> = Extract<Trigger, { kind: Kind }>

const BoardColumn = z.strictObject({ id: BoardLocalId, name: Label, sortOrder: Order.default(0) })

export const variableTypes = ['text', 'number', 'date', 'boolean'] as const

/** A variable that the caller passes at the start of a run. */
export const StartVariable = z.strictObject({ name: Name, type: z.enum(variableTypes), required: z.boolean().default(false) })

/** Values of the parameters of a template. */
export const BoardBindings = z.strictObject({
  roles: z.record(Name, z.string().max(80)).default({}),
  rooms: z.record(Name, z.string().max(255)).default({}),
})
export type BoardBindings = z.infer<typeof BoardBindings>

/** The versioned part of a board; a run keeps the version it began with. */
export const BoardDefinition = z.strictObject({
  columns: z.array(BoardColumn).max(boardLimits.columns).default([]),
  elements: z.array(BoardElement).max(boardLimits.elements),
  edges: z.array(BoardEdge).max(boardLimits.edges),
  variables: z.array(StartVariable).max(boardLimits.fields).default([]),
  /** Roles that may start a run, also by a chat message; empty: every user. */
  startRoles: z.array(RoleRef).max(50).default([]),
  triggers: z.array(Trigger).max(boardLimits.triggers).default([]),
  /** Time for a whole run: a warning at 80 %, an escalation at the end. */
  sla: Duration.nullable().default(null),
  retentionDays: z.int().min(30).max(3_650).default(365),
  bindings: BoardBindings.default({ roles: {}, rooms: {} }),
})
export type BoardDefinition = z.infer<typeof BoardDefinition>

/** The part of a definition that the start of a run needs: reading it alone checks nothing else of a large one. */
export const BoardStart = z.object(BoardDefinition.pick({ variables: true, startRoles: true, bindings: true }).shape)
export type BoardStart = z.infer<typeof BoardStart>

/** The role whose users do the work of an element, empty for a parameter that no binding fills; null: the user who started the run does it. */
export const workerRole = (board: Pick<BoardDefinition, 'bindings'>, { assignedRole }: WorkElement['config']): string | null =>
  assignedRole === undefined ? null : (boundRole(board, assignedRole) ?? '')

/** The role that a reference means; undefined for a parameter that no binding fills. */
export const boundRole = ({ bindings }: Pick<BoardDefinition, 'bindings'>, ref: RoleRef): string | undefined =>
  typeof ref === 'string' ? ref : bindings.roles[ref.role]

/** The room that a reference means: `space`, a room id, or undefined for a parameter that no binding fills. */
export const boundRoom = ({ bindings }: Pick<BoardDefinition, 'bindings'>, ref: RoomRef): string | undefined =>
  typeof ref === 'string' ? ref : bindings.rooms[ref.room]
