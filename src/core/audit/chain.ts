import { canonicalJson, sha256Hex } from '../kit/index.ts'

/** The hashed part of an entry: everything but its own hash. */
type AuditContent = Readonly<{
  chain: string
  seq: number
  at: string
  actor: string
  action: string
  subject: string | null
  data: unknown
  previousHash: string
}>

export type AuditEntry = AuditContent & Readonly<{ hash: string }>

/** The hash before the first entry of a chain. */
export const genesisHash = '0'.repeat(64)

/** SHA-256 over the canonical JSON of the content. It includes the previous hash, so a changed, removed or moved entry breaks the chain. */
export const auditHash = (content: AuditContent, digest = sha256Hex): string => {
  const { chain, seq, at, actor, action, subject, data, previousHash } = content
  return digest(canonicalJson({ chain, seq, at, actor, action, subject, data, previousHash }))
}

/** The last verified entry of a chain. */
export type ChainHead = Readonly<{ seq: number; hash: string }>

type ChainVerdict = Readonly<{ ok: true; head: ChainHead }> | Readonly<{ ok: false; brokenAt: number; reason: string; head: ChainHead }>

export const chainStart: ChainHead = { seq: 0, hash: genesisHash }

/**
 * Verifies entries in stored order, starting after `from`, and stops at the first one that does not follow from its predecessor. It cannot
 * detect removed entries at the end of a chain; only the stored head or a signed checkpoint can.
 */
export function verifyChain(entries: Iterable<AuditEntry>, from: ChainHead = chainStart): ChainVerdict {
  let head = from
  for (const entry of entries) {
    const reason = fault(entry, head)
    if (reason) return { ok: false, brokenAt: head.seq + 1, reason, head }
    head = { seq: entry.seq, hash: entry.hash }
  }
  return { ok: true, head }
}

function fault(entry: AuditEntry, head: ChainHead): string | undefined {
  if (entry.seq !== head.seq + 1) return `entry ${head.seq + 1} is missing: entry ${entry.seq} follows entry ${head.seq}`
  if (entry.previousHash !== head.hash) return `entry ${entry.seq} does not link to entry ${head.seq}`
  if (auditHash(entry) !== entry.hash) return `entry ${entry.seq} was changed after it was written`
  return undefined
}
