import { type EventType, eventTypes, isModuleEvent, type TenantEventType } from '../events/index.ts'

/** Stored events of a tenant, published to clients or internal. */
type StoredType = TenantEventType | 'tenant.changed'

/**
 * The users whose documents an event makes stale. `user`: the user in the payload. `task`: users whose document contains the task, its assignee,
 * and users with its role. `space`: its members; joining and leaving have events of their own.
 */
type Affected = 'none' | 'all' | 'user' | 'space' | 'task'

const affectedByType = {
  'space.created': 'none',
  'space.updated': 'space',
  'space.ready': 'none',
  'space.deleted': 'space',
  'user.joined': 'user',
  'user.left': 'user',
  'user.created': 'none',
  'user.enabled': 'none',
  'user.disabled': 'none',
  'user.erased': 'none',
  'user.roles_changed': 'user',
  'user.contact_changed': 'none',
  'user.profile_changed': 'user',
  'task.created': 'task',
  'task.updated': 'task',
  'task.escalated': 'task',
  'file.created': 'none',
  'file.updated': 'none',
  'file.deleted': 'none',
  'folder.created': 'none',
  'folder.deleted': 'none',
  'module.installed': 'all',
  'module.activated': 'all',
  'module.deactivated': 'all',
  'module.updated': 'all',
  'module.rolled_back': 'all',
  'module.paused': 'all',
  'module.resumed': 'all',
  'module.withdrawn': 'all',
  'module.restored': 'all',
  'module.uninstalled': 'all',
  'module.data_deleted': 'all',
  'tenant.flags_changed': 'all',
  'maintenance.changed': 'all',
  'tenant.changed': 'all',
  'marketplace.item_changed': 'none',
  'subscription.activated': 'none',
  'subscription.cancelled': 'none',
  'board.created': 'none',
  'board.saved': 'none',
  'board.published': 'none',
  'board.archived': 'none',
  'run.started': 'none',
  'run.advanced': 'none',
  'run.completed': 'none',
  'run.failed': 'none',
  'checkpoint.created': 'none',
  'checkpoint.resolved': 'none',
  'sla.warning': 'none',
  'crisis.updated': 'none',
  'message.notice': 'none',
} as const satisfies Record<StoredType, Affected>

/** The inputs of a document that events can change. */
export type DocumentSources = Readonly<{
  userId: string
  roles: readonly string[]
  spaceIds: ReadonlySet<string>
  taskIds: ReadonlySet<string>
}>

type StoredEvent = Readonly<{ eventType: string; payload: unknown }>

/** An unknown type was stored by a newer version and may change any document. */
const affectedBy = (type: string): Affected => {
  if (Object.hasOwn(affectedByType, type)) return affectedByType[type as StoredType]
  // A published event of a module changes no document.
  if (isModuleEvent(type)) return 'none'
  return Object.hasOwn(eventTypes, type) && eventTypes[type as EventType].stream === null ? 'none' : 'all'
}

/** True if the event changes a document that was built before it. */
export function isStale({ userId, roles, spaceIds, taskIds }: DocumentSources, { eventType, payload }: StoredEvent): boolean {
  const named = (typeof payload === 'object' && payload !== null ? payload : {}) as Readonly<Record<string, unknown>>
  switch (affectedBy(eventType)) {
    case 'all':
      return true
    case 'none':
      return false
    case 'user':
      return named.userId === userId
    case 'space':
      return spaceIds.has(named.spaceId as string)
    case 'task':
      return taskIds.has(named.taskId as string) || named.assigneeId === userId || roles.includes(named.role as string)
  }
}
