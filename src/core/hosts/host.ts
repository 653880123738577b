import { z } from 'zod'

/** Names a machine in commands, tables and logs. */
export const HostName = z
  .string()
  .max(63)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'must be lower-case letters, digits, dots and hyphens, such as host-1')
  .refine((name) => name !== 'invites', 'is reserved')

/** `offline` = nothing heard for 90 s. `frozen` = two agents used its key; `revoked` = an operator shut it out. Both need a new enrolment. */
export const HostStatus = z.enum(['online', 'offline', 'frozen', 'revoked'])
export type HostStatus = z.infer<typeof HostStatus>

export const EngineInfo = z.object({ engine: z.string().max(100), compose: z.string().max(100), restic: z.string().max(100).nullable() })
export type EngineInfo = z.infer<typeof EngineInfo>

export const HostResources = z.object({
  cpus: z.number().int().min(1),
  memoryBytes: z.number().min(0),
  diskBytes: z.number().min(0),
  freeDiskBytes: z.number().min(0),
})
export type HostResources = z.infer<typeof HostResources>

/** A host whose agent was not heard for `offlineAfterMs` is offline: its commands wait and their deadlines count. */
export const isOffline = ({ lastSeenAt }: { lastSeenAt: string | null }, now: Date, offlineAfterMs = 90_000): boolean =>
  lastSeenAt === null || now.getTime() - Date.parse(lastSeenAt) > offlineAfterMs
