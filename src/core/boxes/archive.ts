import { z } from 'zod'

// The archive of a box is in the repository of its snapshots: bases (the files of its database while it serves) and the write-ahead log since,
// with media, objects and files of the box. From a base and all log after it, the box of any later moment is recovered.

/** A position in the write-ahead log, as PostgreSQL writes it. */
export const Lsn = z.string().regex(/^[0-9A-F]{1,8}\/[0-9A-F]{1,8}$/)

const FullId = z.string().regex(/^[0-9a-f]{64}$/)

/**
 * One snapshot of an archive. A base needs the log from `from` to `to` to be consistent; a log part has all log between them. Parts of different
 * lines never join: a line ends where the database is replaced, or log was lost.
 */
export const ArchivePart = z.object({
  snapshotId: FullId,
  /** A base's files. They are another snapshot: where their log ends is only known after they were stored. */
  data: FullId.optional(),
  kind: z.enum(['base', 'log']),
  line: z.string().regex(/^[0-9A-Za-z]{1,40}$/),
  from: Lsn,
  to: Lsn,
  /** All that was committed until then is in it, by the clock of its host. */
  at: z.iso.datetime(),
  addedBytes: z.number().min(0),
})
export type ArchivePart = z.infer<typeof ArchivePart>

/** Parts that a recovery needs, in the order of the log. A base a day and a part an hour are far fewer. */
const maxChain = 2_000

/** The input of a recovery: a base, the log after it, and the moment; null for all of the log. */
export const RecoveryInput = { base: FullId, logs: z.array(FullId).min(1).max(maxChain), to: z.iso.datetime().nullable() }

/** The value of a position. */
export function lsnValue(text: string): bigint {
  const [high = '0', low = '0'] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

/** A position as PostgreSQL writes it. */
export const lsnText = (lsn: bigint): string =>
  `${(lsn >> 32n).toString(16).toUpperCase()}/${(lsn & 0xffffffffn).toString(16).toUpperCase()}`

const hourMs = 60 * 60_000
/** After the daily snapshots, in UTC. */
const baseHour = 2.5

/** A base is due every night; one that was never made, or is lost, at once. */
export function isBaseDue(lastAt: string | undefined, now: string): boolean {
  const night = Math.floor((Date.parse(now) - baseHour * hourMs) / (24 * hourMs)) * 24 * hourMs + baseHour * hourMs
  return lastAt === undefined || Date.parse(lastAt) < night
}
