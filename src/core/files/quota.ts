import { z } from 'zod'
import { type Problem, problem } from '../kit/index.ts'
import { formatSize, gigabyte } from './format-size.ts'

/** Storage limit of a tenant's files by plan, in bytes. */
export type Quotas = Readonly<{ light: number; pro: number; dedicated: number }>

/** `used`: bytes of all files, deleted ones until they are erased, plus the bytes reserved for running uploads. */
type Usage = Readonly<{ used: number; limit: number }>
/** Bounds of the size of an upload that are known before it is read. */
type SizeBounds = Readonly<{ least: number; most: number }>

/**
 * Bytes to reserve for an upload before it is read: its maximum size, or the free space if that may be enough. An upload may not exceed its
 * reservation, so the sum never passes the limit. Throws QUOTA_EXCEEDED.
 */
export function bytesToReserve({ used, limit }: Usage, { least, most }: SizeBounds): number {
  const free = Math.max(0, limit - used)
  if (least > free || (free === 0 && most > 0)) throw quotaExceeded({ used, limit })
  return Math.min(most, free)
}

export const quotaExceeded = ({ used, limit }: Usage): Problem =>
  problem(
    'QUOTA_EXCEEDED',
    `Storage quota exceeded: the files of your organisation use ${formatSize(used)} of ${formatSize(limit)}. fix: delete files permanently, or ask for a larger plan`,
  )

export const quotasInBytes = (gigabytes: Quotas): Quotas => {
  const bytes = (count: number) => Math.floor(count * gigabyte)
  return { light: bytes(gigabytes.light), pro: bytes(gigabytes.pro), dedicated: bytes(gigabytes.dedicated) }
}

const Counted = z.object({ count: z.int(), bytes: z.int() })

/** Storage used by the files of a tenant, as its quota counts it. */
export const FileUsage = z.object({
  usedBytes: z.int().meta({ description: 'Sum of all states below; compared with the quota' }),
  quotaBytes: z.int().meta({ description: 'Storage limit of the plan' }),
  kept: Counted,
  deleted: Counted.meta({ description: 'Count towards the quota until they are erased' }),
  underWay: Counted.meta({ description: 'Reserved for running uploads' }),
  largestSpaces: z
    .array(Counted.extend({ id: z.string(), name: z.string() }))
    .meta({ description: 'The five spaces that use most storage, deleted files included' }),
})
export type FileUsage = z.infer<typeof FileUsage>

/** Files of one space in one state. */
export type SpaceUsage = Readonly<{ spaceId: string; as: 'kept' | 'deleted' | 'underWay'; count: number; bytes: number }>

const maxLargestSpaces = 5
const sumOf = (some: readonly SpaceUsage[]) => ({
  count: some.reduce((sum, { count }) => sum + count, 0),
  bytes: some.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** Totals by state, and the spaces that use most; spaces of equal size are ordered by id. */
export function summarizeUsage(usages: readonly SpaceUsage[]) {
  const bySpace = new Map<string, SpaceUsage[]>()
  for (const one of usages) bySpace.set(one.spaceId, [...(bySpace.get(one.spaceId) ?? []), one])
  const spaces = [...bySpace].map(([id, some]) => ({ id, ...sumOf(some) }))
  const of = (as: SpaceUsage['as']) => sumOf(usages.filter((one) => one.as === as))
  return {
    kept: of('kept'),
    deleted: of('deleted'),
    underWay: of('underWay'),
    largestSpaces: spaces.toSorted((a, b) => b.bytes - a.bytes || (a.id < b.id ? -1 : 1)).slice(0, maxLargestSpaces),
  }
}
