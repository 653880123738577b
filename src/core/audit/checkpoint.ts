import { z } from 'zod'
import { canonicalJson, sha256Hex } from '../kit/index.ts'

/** A signed head of a chain. The key is not in the database, so an attacker who rewrites the log cannot forge it. */
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
 * Reads checkpoints from JSON lines: the daemon's `audit-checkpoints.jsonl`, a file of `tenantry audit checkpoint`, or an export.
 * `passedOver` counts invalid lines; a crash may truncate a line.
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
