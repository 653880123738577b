import { z } from 'zod'
import { canonicalJson, sha256Hex } from '../kit/index.ts'
import { Checkpoint } from './checkpoint.ts'

// A chain as a file that can be proved without the daemon: one JSON object per line. First the header, then the checkpoints that were at
// hand, then all entries in their order, then the evidence that entries name by its sum, then how much that was.

const Header = z.object({
  kind: z.literal('export'),
  version: z.literal(1),
  chain: z.string(),
  exportedAt: z.string(),
  /** How many entries follow, so that a download which was cut off is told from a log that was. */
  entries: z.int(),
  /** The key of the daemon it came from, in PEM. It is as trustworthy as the file; a key that was kept elsewhere is better. */
  publicKey: z.string(),
  evidence: z.boolean(),
  /** Its last line says that it is the last one. Exports from before that was written do not. */
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

/** In JSON these two may stand as they are; whoever reads lines takes them for the end of one. */
const lineOf = (value: unknown): string => JSON.stringify(value).replace(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`)

/**
 * Undefined for what is no line of an export, letter by letter as it is written: a key that stands twice, or a number that no number here can
 * hold, would show one thing to a person and prove another.
 */
export function readExportLine(text: string): ExportLine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return lineOf(value) === text ? ExportLine.safeParse(value).data : undefined
  } catch {
    return undefined
  }
}

/** What an entry names evidence by; `data.evidence` holds it. */
export const evidenceSum = (evidence: unknown, digest = sha256Hex): string => digest(canonicalJson(evidence))

/** The sum of the evidence that an entry binds to the chain; undefined when it binds none. */
export function sumInEntry(data: unknown): string | undefined {
  const sum = typeof data === 'object' && data !== null && 'evidence' in data ? data.evidence : undefined
  return typeof sum === 'string' ? sum : undefined
}
