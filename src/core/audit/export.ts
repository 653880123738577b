import { z } from 'zod'
import { canonicalJson, sha256Hex } from '../kit/index.ts'
import { Checkpoint } from './checkpoint.ts'

// The export format: a chain as JSON lines that can be verified without the daemon. Order: header, checkpoints, all entries, the evidence
// that entries name by checksum, and an end line with the count of evidence.

const Header = z.object({
  kind: z.literal('export'),
  version: z.literal(1),
  chain: z.string(),
  exportedAt: z.string(),
  /** Number of entries that follow; distinguishes a truncated download from a truncated log. */
  entries: z.int(),
  /** The daemon's key in PEM. It is only as trustworthy as the file. */
  publicKey: z.string(),
  evidence: z.boolean(),
  /** Present if the export closes with an `end` line; older exports have none. */
  ends: z.literal(true).optional(),
})
export type ExportHeader = Readonly<z.infer<typeof Header>>

const Entry = z.strictObject({
  kind: z.literal('entry'),
  chain: z.string(),
  seq: z.int(),
  at: z.string(),
  actor: z.string(),
  action: z.string(),
  subject: z.string().nullable(),
  data: z.unknown(),
  previousHash: z.string(),
  hash: z.string(),
})

const ExportLine = z.discriminatedUnion('kind', [
  Header,
  Checkpoint.extend({ kind: z.literal('checkpoint') }),
  Entry,
  z.object({ kind: z.literal('evidence'), evidence: z.unknown() }),
  z.strictObject({ kind: z.literal('end'), evidence: z.int() }),
])
export type ExportLine = Readonly<z.infer<typeof ExportLine>>

export const writeExportLine = (line: ExportLine): string => `${lineOf(line)}\n`

/** Escapes U+2028 and U+2029: JSON allows them, but line readers treat them as line ends. */
const lineOf = (value: unknown): string => JSON.stringify(value).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`)

/**
 * Returns undefined unless the line is byte for byte what `writeExportLine` writes. A duplicate key or a number beyond double precision would
 * show one value to a reader and verify another.
 */
export function readExportLine(text: string): ExportLine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return lineOf(value) === text ? ExportLine.safeParse(value).data : undefined
  } catch {
    return undefined
  }
}

/** The checksum that names evidence in `data.evidence` of an entry. */
export const evidenceSum = (evidence: unknown, digest = sha256Hex): string => digest(canonicalJson(evidence))

/** The checksum of the evidence of an entry; undefined if it names none. */
export const sumInEntry = (data: unknown): string | undefined => textIn(data, 'evidence')

/** The checksum of earlier evidence of the same attempt, which a later result replaced; undefined if the entry names none. */
export const replacedSumInEntry = (data: unknown): string | undefined => textIn(data, 'replaces')

function textIn(data: unknown, key: 'evidence' | 'replaces'): string | undefined {
  const value = typeof data === 'object' && data !== null && key in data ? (data as Record<string, unknown>)[key] : undefined
  return typeof value === 'string' ? value : undefined
}
