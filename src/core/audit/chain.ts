import { canonicalJson, sha256Hex } from '../kit/index.ts'

/** What is hashed: everything of an entry but its own hash. */
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

/** SHA-256 over the canonical JSON of the content; it includes the hash before, so no entry can be changed, left out or moved unseen. */
export const auditHash = (content: AuditContent, digest = sha256Hex): string => {
  const { chain, seq, at, actor, action, subject, data, previousHash } = content
  return digest(canonicalJson({ chain, seq, at, actor, action, subject, data, previousHash }))
}

/** How far a chain has been proved. */
export type ChainHead = Readonly<{ seq: number; hash: string }>

type ChainVerdict = Readonly<{ ok: true; head: ChainHead }> | Readonly<{ ok: false; brokenAt: number; reason: string; head: ChainHead }>

export const chainStart: ChainHead = { seq: 0, hash: genesisHash }

/**
 * Goes through entries in the order they are stored, from a proved head on, and stops at the first that does not follow from the one before:
 * changed, left out, put in or moved. A chain that was cut at its end looks whole; only its head or a signed checkpoint tells.
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
  if (entry.seq !== head.seq + 1) return `entry ${head.seq + 1} is missing: ${entry.seq} comes after ${head.seq}`
  if (entry.previousHash !== head.hash) return `entry ${entry.seq} does not follow from the one before`
  if (auditHash(entry) !== entry.hash) return `entry ${entry.seq} was changed after it was written`
  return undefined
}
