import type { StreamType } from './stream-type.ts'

type Known = Readonly<{
  /** What clients are told it is; null: nobody outside is told. */
  stream: StreamType | null
  /** Fields of the payload that name things. These alone leave the daemon. */
  ids: readonly string[]
  /** More of them, which may be absent or null. */
  perhaps: readonly string[]
}>

/** Told to clients under the name of the stream type. */
const told = <const Ids extends readonly string[], const Perhaps extends readonly string[] = []>(
  stream: StreamType,
  ids: Ids,
  perhaps: Perhaps = [] as unknown as Perhaps,
) => ({ stream, ids, perhaps })

/** For operators only. */
const kept = <const Perhaps extends readonly string[]>(...perhaps: Perhaps) => ({ stream: null, ids: [] as const, perhaps })

/** Every event that is ever stored, and what of it clients are told. An event that does not stand here cannot be stored. */
export const eventTypes = {
  // spaces and who is in them (spec 6)
  'space.created': told('space.changed', ['spaceId']),
  'space.updated': told('space.changed', ['spaceId']),
  'space.ready': told('space.changed', ['spaceId']),
  'space.deleted': told('space.changed', ['spaceId']),
  'user.joined': told('membership.changed', ['userId', 'spaceId']),
  'user.left': told('membership.changed', ['userId', 'spaceId']),
  // users
  'user.created': told('contacts.changed', ['userId']),
  'user.enabled': told('contacts.changed', ['userId']),
  'user.disabled': told('contacts.changed', ['userId']),
  'user.roles_changed': told('contacts.changed', ['userId']),
  'user.contact_changed': told('contacts.changed', ['userId']),
  'user.profile_changed': told('profile.changed', ['userId']),
  // tasks and files
  'task.created': told('task.created', ['taskId'], ['spaceId', 'eventId', 'runId', 'assigneeId']),
  'task.updated': told('task.updated', ['taskId'], ['spaceId', 'eventId', 'runId', 'assigneeId']),
  'task.escalated': told('task.escalated', ['taskId'], ['spaceId', 'eventId', 'runId', 'assigneeId']),
  'file.created': told('file.changed', ['fileId', 'spaceId'], ['folderId']),
  'file.updated': told('file.changed', ['fileId', 'spaceId'], ['folderId']),
  'file.deleted': told('file.changed', ['fileId', 'spaceId'], ['folderId']),
  'folder.created': told('file.changed', ['folderId', 'spaceId']),
  'folder.deleted': told('file.changed', ['folderId', 'spaceId']),
  // modules, marketplace
  'module.installed': told('module.changed', ['moduleId']),
  'module.activated': told('module.changed', ['moduleId']),
  'module.deactivated': told('module.changed', ['moduleId']),
  'module.uninstalled': told('module.changed', ['moduleId']),
  'module.data_deleted': told('module.changed', ['moduleId']),
  'tenant.flags_changed': told('flag.changed', []),
  'marketplace.item_changed': told('marketplace.changed', ['itemId']),
  'subscription.activated': told('subscription.changed', ['subscriptionId'], ['itemId']),
  'subscription.cancelled': told('subscription.changed', ['subscriptionId'], ['itemId']),
  // boards, runs, crises
  'board.created': told('board.changed', ['boardId']),
  'board.saved': told('board.changed', ['boardId']),
  'board.published': told('board.changed', ['boardId']),
  'board.archived': told('board.changed', ['boardId']),
  'run.started': told('run.updated', ['runId', 'boardId']),
  'run.advanced': told('run.updated', ['runId', 'boardId']),
  'run.completed': told('run.updated', ['runId', 'boardId']),
  'run.failed': told('run.updated', ['runId', 'boardId']),
  'checkpoint.created': told('checkpoint.created', ['checkpointId', 'runId']),
  'checkpoint.resolved': told('checkpoint.resolved', ['checkpointId', 'runId']),
  'sla.warning': told('sla.warning', ['runId'], ['boardId', 'taskId']),
  'crisis.updated': told('crisis.updated', ['eventId'], ['roomId']),
  'message.notice': told('message.notice', ['roomId'], ['spaceId', 'eventId']),
  // read by the platform itself: a name, a branding, an id that other systems know the tenant by
  'tenant.changed': kept(),
  // what operators follow
  'rollout.created': kept('rolloutId'),
  'rollout.started': kept('rolloutId'),
  'rollout.phase': kept('rolloutId'),
  'rollout.paused': kept('rolloutId'),
  'rollout.resumed': kept('rolloutId'),
  'rollout.action': kept('rolloutId'),
  'rollout.done': kept('rolloutId'),
  'rollout.failed': kept('rolloutId'),
  'rollout.rolled_back': kept('rolloutId'),
  'box.ready': kept('slug', 'boxId', 'commandId'),
  'box.released': kept('slug', 'boxId'),
  'box.removal': kept('slug', 'boxId'),
  'box.move': kept('slug', 'boxId'),
  'box.maintenance': kept('slug', 'boxId'),
  'box.maintenance_failed': kept('slug', 'boxId', 'commandId'),
  'box.completed': kept('slug', 'boxId', 'commandId'),
  'box.fence_overdue': kept('slug', 'boxId'),
  'box.restored': kept('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.restore_failed': kept('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.drilled': kept('slug', 'boxId', 'commandId', 'snapshotId'),
  'box.drill_failed': kept('slug', 'boxId', 'commandId', 'snapshotId'),
  'snapshot.taken': kept('slug', 'boxId', 'commandId', 'snapshotId'),
  'snapshot.failed': kept('slug', 'boxId', 'commandId'),
  'snapshot.missing': kept('slug', 'boxId'),
  'snapshot.check_failed': kept('slug', 'boxId'),
  'snapshot.upkeep_failed': kept('slug', 'boxId', 'commandId'),
  'host.key_rotated': kept('host'),
  'alert.raised': kept('alertId', 'kind', 'subject'),
  'alert.closed': kept('alertId', 'kind', 'subject'),
} as const satisfies Record<string, Known>

export type EventType = keyof typeof eventTypes
/** Those that clients of a tenant may hear of. */
export type TenantEventType = { [Type in EventType]: (typeof eventTypes)[Type]['stream'] extends null ? never : Type }[EventType]

type Ids<Type extends EventType> = (typeof eventTypes)[Type]['ids'][number]
type Perhaps<Type extends EventType> = (typeof eventTypes)[Type]['perhaps'][number]

/** What an event carries: the ids that its type is told by, and whatever else belongs to the record. */
export type PayloadOf<Type extends EventType> = Readonly<Record<Ids<Type>, string>> &
  Readonly<Partial<Record<Perhaps<Type>, string | null>>> &
  Readonly<Record<string, unknown>>

const known: Readonly<Record<string, Known>> = eventTypes

/** Undefined for one that an older or newer daemon stored. */
export const streamTypeOf = (eventType: string): StreamType | undefined =>
  Object.hasOwn(known, eventType) ? (known[eventType]?.stream ?? undefined) : undefined

/** The ids in a payload, and nothing else of it: names, texts and reasons stay in the database. */
export function idsOf(eventType: string, payload: unknown): Record<string, string> {
  if (!Object.hasOwn(known, eventType) || typeof payload !== 'object' || payload === null) return {}
  const { ids = [], perhaps = [] } = known[eventType] ?? {}
  const found = [...ids, ...perhaps].map((name) => [name, (payload as Record<string, unknown>)[name]] as const)
  return Object.fromEntries(found.filter((pair): pair is readonly [string, string] => typeof pair[1] === 'string'))
}
