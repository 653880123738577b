import { type Problem, problem } from '../kit/index.ts'

/** Bytes that the files of a tenant may have together, by its plan. */
export type Quotas = Readonly<{ light: number; pro: number; dedicated: number }>

/** `used` are all files kept, deleted ones until they are erased, and what uploads under way have reserved. */
type Room = Readonly<{ used: number; limit: number }>
/** What an upload can have, by what is known before it is read. */
type Size = Readonly<{ least: number; most: number }>

/**
 * What to set aside for an upload before it is read: as much as it can have, or what is left if that may be enough. What is more than was set
 * aside is not kept, so that all together never pass the limit. Throws QUOTA_EXCEEDED.
 */
export function reservedFor({ used, limit }: Room, { least, most }: Size): number {
  const left = Math.max(0, limit - used)
  if (least > left || (left === 0 && most > 0)) throw quotaExceeded({ used, limit })
  return Math.min(most, left)
}

export const quotaExceeded = ({ used, limit }: Room): Problem =>
  problem(
    'QUOTA_EXCEEDED',
    `the files of your organisation take ${sizeOf(used)} of ${sizeOf(limit)}, and this one does not fit: erase files for good, or ask for a larger plan`,
  )

/** `1.5 GB`; rounded down, so that what is not full never reads as full. */
export function sizeOf(bytes: number): string {
  const [unit, factor] = bytes >= gigabyte ? ['GB', gigabyte] : ['MB', megabyte]
  return `${Math.floor((bytes / factor) * 100) / 100} ${unit}`
}

const megabyte = 1024 ** 2
const gigabyte = 1024 ** 3

export const quotasOf = (gigabytes: Quotas): Quotas => {
  const bytes = (count: number) => Math.floor(count * gigabyte)
  return { light: bytes(gigabytes.light), pro: bytes(gigabytes.pro), dedicated: bytes(gigabytes.dedicated) }
}
