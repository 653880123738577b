import { z } from 'zod'
import type { HostId } from '../boxes/index.ts'

const name = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?'

/** Names a machine in commands, tables and logs. */
export const HostName = z
  .string()
  .max(63)
  .regex(new RegExp(`^${name}$`), 'must be lower-case letters, digits, dots and hyphens, such as host-1')

/** What stands in paths where the name of a host can stand, and means something else there: no new host is called so. Older ones may be. */
export const hostPathWords = ['invites'] as const
export const isHostPathWord = (name: string): boolean => (hostPathWords as readonly string[]).includes(name)

/** As paths name one host: by its name, or by its id, which is all that names one whose name is a word of paths. */
export const HostKey = z
  .string()
  .max(63)
  .regex(
    new RegExp(`^(?:(?!${hostPathWords.map((word) => `${word}$`).join('|')})${name}|host_[0-9a-z]{20})$`),
    `must be the name or the id of a host; of one that is called ${hostPathWords.join(' or ')}, the id`,
  )
export const isHostId = (key: string): key is HostId => key.startsWith('host_')

/** `offline` = nothing heard for 90 s. `frozen` = two agents used its key; `revoked` = an operator shut it out. Both need a new enrolment. */
export const HostStatus = z.enum(['online', 'offline', 'frozen', 'revoked'])
export type HostStatus = z.infer<typeof HostStatus>

export const EngineInfo = z.object({ engine: z.string().max(100), compose: z.string().max(100), restic: z.string().max(100).nullable() })
export type EngineInfo = z.infer<typeof EngineInfo>

/** What a machine has and what of it is in use. What an agent cannot find out it leaves away. */
export const HostResources = z.object({
  cpus: z.number().int().min(1),
  memoryBytes: z.number().min(0),
  memoryAvailableBytes: z.number().min(0).optional(),
  /** Processes that wanted to run, on average over the last 1, 5 and 15 minutes. */
  load: z.array(z.number().min(0)).length(3).optional(),
  diskBytes: z.number().min(0),
  freeDiskBytes: z.number().min(0),
  /** Boxes that the agent keeps. */
  boxes: z.number().int().min(0).optional(),
  /** The space that only journal and restore may use: `used` = it was given up for them and could not be taken back yet. */
  ballast: z.enum(['kept', 'used']).optional(),
  agentRssBytes: z.number().min(0).optional(),
  /** Of the agent, not of the machine. */
  uptimeMs: z.number().min(0).optional(),
})
export type HostResources = z.infer<typeof HostResources>

/** Below a tenth, pulls, dumps and restores begin to fail for want of space. */
export const isDiskLow = ({ diskBytes, freeDiskBytes }: HostResources): boolean => freeDiskBytes < diskBytes / 10

/** How far the clock of a host may be from the daemon's before it is called skewed; tokens bear as much. */
const clockLeewayMs = 30_000

export const isSkewed = ({ clockOffsetMs }: { clockOffsetMs: number | null }): boolean =>
  clockOffsetMs !== null && Math.abs(clockOffsetMs) > clockLeewayMs

/** A host whose agent was not heard for `offlineAfterMs` is offline: its commands wait and their deadlines count. */
export const isOffline = ({ lastSeenAt }: { lastSeenAt: string | null }, now: Date, offlineAfterMs = 90_000): boolean =>
  lastSeenAt === null || now.getTime() - Date.parse(lastSeenAt) > offlineAfterMs
