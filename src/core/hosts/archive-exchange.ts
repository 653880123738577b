import { z } from 'zod'
import { ArchivePart, CommandSecrets } from '../boxes/index.ts'
import { channelLimits } from './protocol.ts'

/** The parts of an archive that an agent stored since its last report. */
export const ArchiveReport = z.object({
  boxId: z.string().max(100),
  ownershipEpoch: z.number().int().min(1),
  /** The store has all that the box committed until then; null before the first part. */
  covered: ArchivePart.pick({ line: true, at: true }).nullable(),
  parts: z.array(ArchivePart).max(100),
  error: z.object({ code: z.string().max(50), message: z.string().max(500) }).nullable(),
})
export type ArchiveReport = z.infer<typeof ArchiveReport>

/** A box whose archive this host stores, and its repository if it was asked for. */
export const ArchiveOrder = z.object({
  slug: z.string(),
  boxId: z.string(),
  ownershipEpoch: z.number().int().min(1),
  snapshots: CommandSecrets.shape.snapshots,
})
export type ArchiveOrder = z.infer<typeof ArchiveOrder>

export const ArchiveOrders = z.object({
  boxes: z.array(ArchiveOrder).max(channelLimits.reports),
  /** Until the agent asks again: longer while no tier has an archive. */
  nextInMs: z.number().int().min(1000).max(3_600_000),
})
export type ArchiveOrders = z.infer<typeof ArchiveOrders>
