import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'

/** The name that a fence bears which people put up for their own work. */
export const maintenanceHolder = 'maintenance'

/** A fence that stands, and since when it has stood for too long. */
export const BoxFence = z.object({ holder: z.string().nullable(), since: Timestamp, overdueSince: Timestamp.nullable() })
export type BoxFence = z.infer<typeof BoxFence>

type Fence = Readonly<{ holder: string | null; since: string }>

/**
 * When a fence has stood for too long: after the deadline of the work that it is for, or after `longestMs` where none is known. Never for
 * maintenance: that ends when people end it.
 */
export function fenceDueAt({ holder, since }: Fence, deadlineAt: string | undefined, longestMs: number): string | undefined {
  if (holder === maintenanceHolder) return undefined
  const longest = new Date(Date.parse(since) + longestMs).toISOString()
  return deadlineAt !== undefined && deadlineAt > longest ? deadlineAt : longest
}
