import { z } from 'zod'
import { canonicalJson, sha256Hex } from '../kit/index.ts'

/** The head of a chain at a time, signed by a key that the database does not hold: whoever rewrites the log later cannot rewrite this. */
export const Checkpoint = z.object({
  chain: z.string(),
  count: z.int(),
  hash: z.string(),
  at: z.string(),
  keyId: z.string(),
  signature: z.string(),
})
export type Checkpoint = Readonly<z.infer<typeof Checkpoint>>

/** The bytes that are signed. */
export const checkpointText = ({ chain, count, hash, at }: Pick<Checkpoint, 'chain' | 'count' | 'hash' | 'at'>): string =>
  canonicalJson({ chain, count, hash, at })

/** Names a public key (its SPKI in DER) in checkpoints. */
export const checkpointKeyId = (spki: Uint8Array): string => sha256Hex(spki).slice(0, 16)

/**
 * The checkpoints in a text with one JSON object per line: the daemon's `audit-checkpoints.jsonl`, what `tenantry audit checkpoint` wrote, or
 * an export. `passedOver` counts lines that are no checkpoint and nothing else that is known: a crash cut them short.
 */
export function readCheckpoints(text: string): Readonly<{ checkpoints: Checkpoint[]; passedOver: number }> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const read = lines.map((line) => readLine(line))
  return {
    checkpoints: read.flatMap((one) => (typeof one === 'object' ? [one] : [])),
    passedOver: read.filter((one) => one === 'no').length,
  }
}

function readLine(line: string): Checkpoint | 'other' | 'no' {
  try {
    const value: unknown = JSON.parse(line)
    const { success, data } = Checkpoint.safeParse(value)
    if (success) return data
    return typeof value === 'object' && value !== null && 'kind' in value && value.kind !== 'checkpoint' ? 'other' : 'no'
  } catch {
    return 'no'
  }
}
