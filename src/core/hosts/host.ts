import { z } from 'zod'
import type { HostId } from '../boxes/index.ts'

const name = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?'

export const HostName = z
  .string()
  .max(63)
  .regex(new RegExp(`^${name}$`), 'must be lower-case letters, digits, dots and hyphens, such as host-1')

/** Path segments with another meaning where a host name is expected. New hosts cannot use them as names; older hosts may have. */
export const hostPathWords = ['invites'] as const
export const isHostPathWord = (name: string): boolean => (hostPathWords as readonly string[]).includes(name)

/** A host in a path: its name or its id. A host whose name is a path word is reachable by id only. */
export const HostKey = z
  .string()
  .max(63)
  .regex(
    new RegExp(`^(?:(?!${hostPathWords.map((word) => `${word}$`).join('|')})${name}|host_[0-9a-z]{20})$`),
    `must be the name or the id of a host; for a host named ${hostPathWords.join(' or ')}, the id`,
  )
export const isHostId = (key: string): key is HostId => key.startsWith('host_')

/** `offline`: silent for 90 s. `frozen`: two agents used its key. `revoked`: by an operator. The latter two need a new enrolment. */
export const HostStatus = z.enum(['online', 'offline', 'frozen', 'revoked'])
export type HostStatus = z.infer<typeof HostStatus>

export const EngineInfo = z.object({ engine: z.string().max(100), compose: z.string().max(100), restic: z.string().max(100).nullable() })
export type EngineInfo = z.infer<typeof EngineInfo>

/** Capacity and usage of a machine; values the agent cannot determine are absent. */
export const HostResources = z.object({
  cpus: z.number().int().min(1),
  memoryBytes: z.number().min(0),
  memoryAvailableBytes: z.number().min(0).optional(),
  /** Load average over 1, 5 and 15 minutes. */
  load: z.array(z.number().min(0)).length(3).optional(),
  /** The fullest of the disks of boxes, volumes and the state of the agent. */
  diskBytes: z.number().min(0),
  freeDiskBytes: z.number().min(0),
  /** A folder on that disk. */
  diskPath: z.string().max(300).optional(),
  /** Number of boxes on the host. */
  boxes: z.number().int().min(0).optional(),
  /** Disk reserve for journal and restore: `used`: released for them and not reallocated yet. */
  diskReserve: z.enum(['kept', 'used']).optional(),
  agentRssBytes: z.number().min(0).optional(),
  /** Each open box was checked at this time or later, and a report was sent since if that changed what is known of it. */
  checkedAt: z.iso.datetime().optional(),
  /** An open box that was never checked is on the host since then, as far as this start of the agent knows. */
  uncheckedSince: z.iso.datetime().optional(),
  /** Uptime of the agent, not of the machine. */
  uptimeMs: z.number().min(0).optional(),
})
export type HostResources = z.infer<typeof HostResources>

/** Below a tenth of free space, pulls, dumps and restores start to fail. */
export const isDiskLow = ({ diskBytes, freeDiskBytes }: Pick<HostResources, 'diskBytes' | 'freeDiskBytes'>): boolean =>
  freeDiskBytes < diskBytes / 10

/** Maximum clock difference before a host counts as skewed; equals the leeway of agent tokens. */
const clockLeewayMs = 30_000

export const isSkewed = ({ clockOffsetMs }: { clockOffsetMs: number | null }): boolean =>
  clockOffsetMs !== null && Math.abs(clockOffsetMs) > clockLeewayMs

/** True if the agent has been silent for `offlineAfterMs`. Its commands wait, and their deadlines continue. */
export const isOffline = ({ lastSeenAt }: { lastSeenAt: string | null }, now: Date, offlineAfterMs = 90_000): boolean =>
  lastSeenAt === null || now.getTime() - Date.parse(lastSeenAt) > offlineAfterMs
