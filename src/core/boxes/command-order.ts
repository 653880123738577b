import type { BoxCommandKind } from './commands.ts'

/**
 * Commands that may run beside another command of the same box: they take no lock and write nothing.
 * A health check is not one of them: it writes into the box, and during an update it would report the planned downtime as a failure.
 */
export const readOnlyCommands: readonly string[] = [
  'tenant-box.report_versions',
  'tenant-box.logs',
  'tenant-box.services',
  'tenant-box.follow_logs',
  'tenant-box.resolve_images',
  'tenant-box.survey_import',
  'tenant-box.import_state',
] satisfies BoxCommandKind[]

/** Commands that send lines until their follower is gone. They take no slot of the agent, and end with it. */
export const isFollowing = (kind: string): boolean => kind === ('tenant-box.follow_logs' satisfies BoxCommandKind)

export const isReadOnly = (kind: string): boolean => readOnlyCommands.includes(kind)

/** Commands that neither wait for other commands of their box nor block them. A drill and a rehearsal only read the box, and a recovery not even that. */
export const nonBlockingKinds: readonly string[] = [
  ...readOnlyCommands,
  ...(['tenant-box.drill', 'tenant-box.recover', 'tenant-box.rehearse_upgrade'] satisfies BoxCommandKind[]),
]

export const isNonBlocking = (kind: string): boolean => nonBlockingKinds.includes(kind)
