import { z } from 'zod'
import { type Contract, endpoint, Paging, platform, TimeInput, Timestamp } from '../contract/index.ts'
import { UserKey } from '../users/index.ts'

/**
 * The actions of the audit log that concern one tenant, whose slug is their subject, and what of their data the tenant reads. Everything else stays with
 * the operator: actions of other subjects that have the same name, and names of hosts, commands and accounts of operators.
 */
export const recordedActions: Readonly<Record<string, readonly string[]>> = {
  // users
  'user.created': ['roles', 'chat', 'invitedUntil'],
  'user.changed': ['displayName', 'locale', 'email', 'roles'],
  'user.disabled': ['reason'],
  'user.enabled': [],
  'user.unlocked': [],
  'user.invited': ['invitedUntil'],
  'user.sessions-ended': [],
  'user.password-reset': ['chat', 'logOutDevices', 'isInitial'],
  'user.password-changed': [],
  'user.exported': [],
  'user.erased': [],
  'user.remade': [],
  'user-session.revoked': ['session'],
  // the tenant
  'tenant.created': ['name', 'plan', 'chatDomain'],
  'tenant.changed': ['name', 'plan', 'schoolId', 'orgId', 'branding', 'featureFlags'],
  'tenant.window': ['timeZone', 'maintenanceWindow'],
  'tenant.suspended': ['reason', 'until'],
  'tenant.resumed': ['until'],
  'tenant.exported': [],
  'tenant.deleting': ['reason'],
  // support access
  'support.granted': ['expiresAt'],
  'support.revoked': [],
  'support.used': ['use', 'boardId', 'runId'],
  // spaces, boards, runs
  'space.created': ['spaceId', 'name', 'type', 'visibility'],
  'space.updated': ['spaceId', 'name', 'visibility'],
  'space.deleted': ['spaceId', 'name'],
  'space.member-added': ['spaceId', 'userId', 'role'],
  'space.member-changed': ['spaceId', 'userId', 'role'],
  'space.member-removed': ['spaceId', 'userId'],
  'board.published': ['boardId', 'version'],
  'board.archived': ['boardId'],
  'board.imported': ['boardId'],
  'run.skipped': ['runId', 'boardId', 'elementId'],
  'run.cancelled': ['runId', 'boardId'],
  'run.retried': ['runId', 'boardId', 'boardVersion'],
  // modules, marketplace, payments
  'module.installed': ['moduleId', 'version'],
  'module.activated': ['moduleId', 'version'],
  'module.deactivated': ['moduleId', 'version'],
  'module.uninstalled': ['moduleId', 'version'],
  'module.updated': ['moduleId', 'version'],
  'module.rolled_back': ['moduleId', 'version'],
  'module.paused': ['moduleId'],
  'module.resumed': ['moduleId'],
  'module.settings-changed': ['moduleId'],
  'marketplace.installed': ['itemId', 'version'],
  'marketplace.uninstalled': ['itemId'],
  'marketplace.updated': ['itemId', 'version'],
  'payment.install-begun': ['itemId'],
  'payment.setup-link': [],
  'payment.refunded': ['itemId', 'amountCents', 'currency'],
  'store.developer-registered': ['developerId'],
  'store.module-submitted': ['submissionId', 'moduleId', 'version'],
  // automation
  'automation.credentials-issued': [],
  'automation.credentials-rotated': [],
  'automation.room-created': ['eventId'],
  // the box with the chat
  'box.maintenance.on': [],
  'box.maintenance.off': [],
  'box.restart': [],
  'box.logs': [],
  'box.reconcile': [],
  'box.restore': [],
  'box.restored': [],
  'box.move.handing_over': [],
  'box.move.taking_over': [],
  'box.move.done': [],
  'box.removal.handing_over': [],
  'box.removal.kept': [],
  'snapshot.recover': [],
  'snapshot.take': [],
  'snapshots.abandoned': [],
}

const Entry = z.object({
  id: z.string().meta({ description: 'The hash of the entry in the log of the operator' }),
  at: Timestamp,
  actor: z.object({
    kind: z.enum(['user', 'operator', 'automation', 'platform']),
    matrixUserId: z.string().nullable().meta({ description: 'Of a user; null for all others' }),
  }),
  action: z.string(),
  user: z.string().nullable().meta({ description: 'Login name of the user that the entry is about' }),
  details: z.record(z.string(), z.unknown()),
})
export type RecordEntry = z.infer<typeof Entry>

export const tenantRecordContract = {
  listOwnAudit: endpoint({
    method: 'GET',
    path: '/api/platform/v1/audit',
    auth: platform('readAudit'),
    query: Paging.extend({
      from: TimeInput.optional().meta({ description: 'From this time on' }),
      to: TimeInput.optional().meta({ description: 'Before this time' }),
      action: z.enum(Object.keys(recordedActions)).optional(),
      userId: UserKey.optional().meta({ description: 'Only entries about this user' }),
    }),
    returns: z.object({ entries: z.array(Entry), nextCursor: z.string().nullable() }),
    problems: ['NOT_FOUND'],
    summary: 'List what users and operators did in your organisation, newest first',
  }),
} as const satisfies Contract

type Stored = Readonly<{ hash: string; at: string; actor: string; action: string; subject: string | null; data: unknown }>

const kinds: Readonly<Record<string, RecordEntry['actor']['kind']>> = {
  user: 'user',
  admin: 'operator',
  token: 'operator',
  automation: 'automation',
}

/** An entry as its tenant reads it: operators have no names, and of the data there is what is listed. */
export function recordEntryOf({ hash, at, actor, action, subject, data }: Stored): RecordEntry {
  const [kind = '', ...name] = actor.split(':')
  const slashAt = subject?.indexOf('/') ?? -1
  const known = typeof data === 'object' && data !== null ? Object.entries(data) : []
  return {
    ...{ id: hash, at, action },
    actor: { kind: kinds[kind] ?? 'platform', matrixUserId: kind === 'user' ? name.join(':') : null },
    user: slashAt < 0 ? null : (subject?.slice(slashAt + 1) ?? null),
    details: Object.fromEntries(known.filter(([field]) => recordedActions[action]?.includes(field))),
  }
}
