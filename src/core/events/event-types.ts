import { z } from 'zod'

/** Event types of the client stream. A client then reads the changed resource through its endpoint. */
export const StreamType = z.enum([
  'space.changed',
  'contacts.changed',
  'membership.changed',
  'profile.changed',
  'task.created',
  'task.updated',
  'task.escalated',
  'file.changed',
  'module.changed',
  'flag.changed',
  'marketplace.changed',
  'subscription.changed',
  'board.changed',
  'run.updated',
  'checkpoint.created',
  'checkpoint.resolved',
  'sla.warning',
  'crisis.updated',
  'message.notice',
])
export type StreamType = z.infer<typeof StreamType>

type Known = Readonly<{
  /** The stream type published to clients; null for internal events. */
  stream: StreamType | null
  /** Ids in the payload; the only fields published to clients. */
  ids: readonly string[]
  /** Optional ids, absent or null. */
  perhaps: readonly string[]
}>

/** Declares an event published to clients under a stream type. */
const published = <const Ids extends readonly string[], const Perhaps extends readonly string[] = []>(
  stream: StreamType,
  ids: Ids,
  perhaps: Perhaps = [] as unknown as Perhaps,
) => ({ stream, ids, perhaps })

/** Declares an internal event, visible to operators only. */
const stored = <const Perhaps extends readonly string[]>(...perhaps: Perhaps) => ({ stream: null, ids: [] as const, perhaps })

/** All event types that can be stored, with the part published to clients. */
export const eventTypes = {
  // spaces and who is in them (spec 6)
  'space.created': published('space.changed', ['spaceId']),
  'space.updated': published('space.changed', ['spaceId']),
  'space.ready': published('space.changed', ['spaceId']),
  'space.deleted': published('space.changed', ['spaceId']),
  'user.joined': published('membership.changed', ['userId', 'spaceId']),
  'user.left': published('membership.changed', ['userId', 'spaceId']),
  // users
  'user.created': published('contacts.changed', ['userId']),
  'user.enabled': published('contacts.changed', ['userId']),
  'user.disabled': published('contacts.changed', ['userId']),
  'user.erased': published('contacts.changed', ['userId']),
  'user.roles_changed': published('contacts.changed', ['userId']),
  'user.contact_changed': published('contacts.changed', ['userId']),
  'user.profile_changed': published('profile.changed', ['userId']),
  // tasks and files
  'task.created': published('task.created', ['taskId'], ['spaceId', 'eventId', 'runId', 'assigneeId']),
  'task.updated': published('task.updated', ['taskId'], ['spaceId', 'eventId', 'runId', 'assigneeId']),
  'task.escalated': published('task.escalated', ['taskId'], ['spaceId', 'eventId', 'runId', 'assigneeId']),
  'file.created': published('file.changed', ['fileId', 'spaceId'], ['folderId']),
  'file.updated': published('file.changed', ['fileId', 'spaceId'], ['folderId']),
  'file.deleted': published('file.changed', ['fileId', 'spaceId'], ['folderId']),
  'folder.created': published('file.changed', ['folderId', 'spaceId']),
  'folder.deleted': published('file.changed', ['folderId', 'spaceId']),
  // modules, marketplace
  'module.installed': published('module.changed', ['moduleId']),
  'module.activated': published('module.changed', ['moduleId']),
  'module.deactivated': published('module.changed', ['moduleId']),
  'module.updated': published('module.changed', ['moduleId']),
  'module.rolled_back': published('module.changed', ['moduleId']),
  'module.paused': published('module.changed', ['moduleId']),
  'module.resumed': published('module.changed', ['moduleId']),
  'module.withdrawn': published('module.changed', ['moduleId']),
  'module.restored': published('module.changed', ['moduleId']),
  'module.uninstalled': published('module.changed', ['moduleId']),
  'module.data_deleted': published('module.changed', ['moduleId']),
  'tenant.flags_changed': published('flag.changed', []),
  // one of the 19 types: the bootstrap document, which a client reads again, has the content
  'maintenance.changed': published('flag.changed', ['maintenanceId']),
  'marketplace.item_changed': published('marketplace.changed', ['itemId']),
  'subscription.activated': published('subscription.changed', ['subscriptionId'], ['itemId']),
  'subscription.cancelled': published('subscription.changed', ['subscriptionId'], ['itemId']),
  // boards, runs, crises
  'board.created': published('board.changed', ['boardId'], ['spaceId']),
  'board.saved': published('board.changed', ['boardId'], ['spaceId']),
  'board.published': published('board.changed', ['boardId'], ['spaceId']),
  'board.archived': published('board.changed', ['boardId'], ['spaceId']),
  'run.started': published('run.updated', ['runId', 'boardId'], ['spaceId']),
  'run.advanced': published('run.updated', ['runId', 'boardId'], ['spaceId']),
  'run.completed': published('run.updated', ['runId', 'boardId'], ['spaceId']),
  'run.failed': published('run.updated', ['runId', 'boardId'], ['spaceId']),
  'checkpoint.created': published('checkpoint.created', ['checkpointId', 'runId'], ['spaceId']),
  'checkpoint.resolved': published('checkpoint.resolved', ['checkpointId', 'runId'], ['spaceId']),
  'sla.warning': published('sla.warning', ['runId'], ['boardId', 'taskId', 'spaceId']),
  'crisis.updated': published('crisis.updated', ['eventId'], ['roomId']),
  'message.notice': published('message.notice', ['roomId'], ['spaceId', 'eventId']),
  // read by the platform itself: a name, a branding, an id that other systems know the tenant by
  'tenant.changed': stored(),
  // what operators follow
  'rollout.created': stored('rolloutId'),
  'rollout.started': stored('rolloutId'),
  'rollout.phase': stored('rolloutId'),
  'rollout.baking': stored('rolloutId'),
  'rollout.gates': stored('rolloutId'),
  'rollout.paused': stored('rolloutId'),
  'rollout.resumed': stored('rolloutId'),
  'rollout.action': stored('rolloutId'),
  'rollout.done': stored('rolloutId'),
  'rollout.failed': stored('rolloutId'),
  'rollout.rolled_back': stored('rolloutId'),
  'box.ready': stored('slug', 'boxId', 'commandId'),
  'box.released': stored('slug', 'boxId'),
  'box.removal': stored('slug', 'boxId'),
  'box.move': stored('slug', 'boxId'),
  'box.maintenance': stored('slug', 'boxId'),
  'box.maintenance_failed': stored('slug', 'boxId', 'commandId'),
  'box.import': stored('slug', 'boxId'),
  'box.fence_overdue': stored('slug', 'boxId'),
  'box.restored': stored('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.restore_failed': stored('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.drilled': stored('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.drill_failed': stored('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.upgrade_rehearsed': stored('slug', 'boxId', 'commandId', 'ok', 'downtimeMs'),
  'snapshot.taken': stored('slug', 'boxId', 'commandId', 'snapshotId'),
  'snapshot.failed': stored('slug', 'boxId', 'commandId'),
  'snapshot.missing': stored('slug', 'boxId'),
  'snapshot.store_lost': stored('slug', 'boxId'),
  'snapshot.store_back': stored('slug', 'boxId'),
  'snapshot.check_failed': stored('slug', 'boxId'),
  'snapshot.upkeep_failed': stored('slug', 'boxId', 'commandId'),
  'host.key_rotated': stored('host'),
  'alert.raised': stored('alertId', 'kind', 'subject'),
  'alert.closed': stored('alertId', 'kind', 'subject'),
} as const satisfies Record<string, Known>

export type EventType = keyof typeof eventTypes
/** Event types published to clients of a tenant. */
export type TenantEventType = { [Type in EventType]: (typeof eventTypes)[Type]['stream'] extends null ? never : Type }[EventType]

type Ids<Type extends EventType> = (typeof eventTypes)[Type]['ids'][number]
type Perhaps<Type extends EventType> = (typeof eventTypes)[Type]['perhaps'][number]

/** Payload of an event: the ids of its type and further stored fields. */
export type PayloadOf<Type extends EventType> = Readonly<Record<Ids<Type>, string>> &
  Readonly<Partial<Record<Perhaps<Type>, string | null>>> &
  Readonly<Record<string, unknown>>

const known: Readonly<Record<string, Known>> = eventTypes

/** An event that a module published: `module.<id>.<name>`. */
export type ModuleEventType = `module.${string}.${string}`

const moduleEventForm = /^module\.[a-z][a-z0-9-]{2,49}\.[a-z][a-z0-9_]{0,39}$/
export const isModuleEvent = (eventType: string): eventType is ModuleEventType => moduleEventForm.test(eventType)

/** The payload of an event that a module published. What the module sent is inside, so it cannot claim another run or space. */
export type ModuleEventPayload = Readonly<{
  moduleId: string
  spaceId: string | null
  /** The run that published it, and how many runs led to that one. */
  runId: string
  depth: number
  payload: unknown
}>

/** Undefined for a type of an older or newer version. */
export const streamTypeOf = (eventType: string): StreamType | undefined => {
  if (isModuleEvent(eventType)) return 'module.changed'
  return Object.hasOwn(known, eventType) ? (known[eventType]?.stream ?? undefined) : undefined
}

/** Stored types that a user may mean by another one: those that the stream publishes under it, else those of the same object. */
export function typesNear(named: string): EventType[] {
  const types = (Object.keys(eventTypes) as EventType[]).filter((type) => eventTypes[type].stream !== null)
  const published = types.filter((type) => eventTypes[type].stream === named)
  return published.length > 0 ? published : types.filter((type) => type.split('.')[0] === named.split('.')[0])
}

/** The depth of the module run that caused the event; undefined for an event of anything else. Only the platform writes this field. */
export function moduleDepthOf({ payload }: Readonly<{ payload: unknown }>): number | undefined {
  const { depth } = (typeof payload === 'object' && payload !== null ? payload : {}) as { depth?: unknown }
  return typeof depth === 'number' ? depth : undefined
}

const ofModules: Pick<Known, 'ids' | 'perhaps'> = { ids: ['moduleId'], perhaps: ['spaceId'] }

/** Extracts the ids of a payload; names, texts and reasons are never published. */
export function idsOf(eventType: string, payload: unknown): Record<string, string> {
  const isKnown = isModuleEvent(eventType) || Object.hasOwn(known, eventType)
  if (!isKnown || typeof payload !== 'object' || payload === null) return {}
  const { ids = [], perhaps = [] } = known[eventType] ?? ofModules
  const found = [...ids, ...perhaps].map((name) => [name, (payload as Record<string, unknown>)[name]] as const)
  return Object.fromEntries(found.filter((pair): pair is readonly [string, string] => typeof pair[1] === 'string'))
}

/** The box, step and status of a rollout's event; empty for other events. Nothing else of its payload is shown. */
export function progressOf(eventType: string, payload: unknown): Readonly<{ box?: string; step?: string; status?: string }> {
  if (!eventType.startsWith('rollout.')) return {}
  const { status, action, progress } = (payload ?? {}) as Partial<Record<'status' | 'action' | 'progress', unknown>>
  const { tenantSlug: box, status: boxStatus } = (action ?? {}) as Partial<Record<'tenantSlug' | 'status', unknown>>
  const { step } = (progress ?? {}) as Partial<Record<'step', unknown>>
  return { ...textAs('box', box), ...textAs('step', step), ...textAs('status', boxStatus ?? status) }
}

const textAs = <Name extends string>(name: Name, value: unknown): { [Key in Name]?: string } =>
  typeof value === 'string' ? ({ [name]: value } as { [Key in Name]?: string }) : {}
