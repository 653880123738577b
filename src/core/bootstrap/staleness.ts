import { type EventType, eventTypes, type TenantEventType } from '../events/index.ts'

/** Events of a tenant that are stored: told to clients, or noted for the platform itself. */
type Stored = TenantEventType | 'tenant.changed'

/**
 * Whose bootstrap documents a stored event makes stale. `user`: of the user that it names. `task`: of those in whose document the task stands, of the one
 * it falls to, and of those with its role. `space`: of its members, in whose documents it stands; who comes into one or leaves it has an event for that.
 */
type Touched = 'nobody' | 'all' | 'user' | 'space' | 'task'

const touched = {
  'space.created': 'nobody',
  'space.updated': 'space',
  'space.ready': 'nobody',
  'space.deleted': 'space',
  'user.joined': 'user',
  'user.left': 'user',
  'user.created': 'nobody',
  'user.enabled': 'nobody',
  'user.disabled': 'nobody',
  'user.roles_changed': 'user',
  'user.contact_changed': 'nobody',
  'user.profile_changed': 'user',
  'task.created': 'task',
  'task.updated': 'task',
  'task.escalated': 'task',
  'file.created': 'nobody',
  'file.updated': 'nobody',
  'file.deleted': 'nobody',
  'folder.created': 'nobody',
  'folder.deleted': 'nobody',
  'module.installed': 'all',
  'module.activated': 'all',
  'module.deactivated': 'all',
  'module.uninstalled': 'all',
  'module.data_deleted': 'all',
  'tenant.flags_changed': 'all',
  'tenant.changed': 'all',
  'marketplace.item_changed': 'nobody',
  'subscription.activated': 'nobody',
  'subscription.cancelled': 'nobody',
  'board.created': 'nobody',
  'board.saved': 'nobody',
  'board.published': 'nobody',
  'board.archived': 'nobody',
  'run.started': 'nobody',
  'run.advanced': 'nobody',
  'run.completed': 'nobody',
  'run.failed': 'nobody',
  'checkpoint.created': 'nobody',
  'checkpoint.resolved': 'nobody',
  'sla.warning': 'nobody',
  'crisis.updated': 'nobody',
  'message.notice': 'nobody',
} as const satisfies Record<Stored, Touched>

/** What a document was made of, as far as events can change it. */
export type MadeOf = Readonly<{ userId: string; roles: readonly string[]; spaceIds: ReadonlySet<string>; taskIds: ReadonlySet<string> }>

type Happened = Readonly<{ eventType: string; payload: unknown }>

/** An event that this program does not know was stored by a newer one: what it changes is not known either. */
const touchedBy = (type: string): Touched => {
  if (Object.hasOwn(touched, type)) return touched[type as Stored]
  return Object.hasOwn(eventTypes, type) && eventTypes[type as EventType].stream === null ? 'nobody' : 'all'
}

/** Whether a document that was made before the event is no longer what it would be now. */
export function isStale({ userId, roles, spaceIds, taskIds }: MadeOf, { eventType, payload }: Happened): boolean {
  const named = (typeof payload === 'object' && payload !== null ? payload : {}) as Readonly<Record<string, unknown>>
  switch (touchedBy(eventType)) {
    case 'all':
      return true
    case 'nobody':
      return false
    case 'user':
      return named.userId === userId
    case 'space':
      return spaceIds.has(named.spaceId as string)
    case 'task':
      return taskIds.has(named.taskId as string) || named.assigneeId === userId || roles.includes(named.role as string)
  }
}
