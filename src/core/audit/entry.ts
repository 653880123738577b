import { canonicalJson, sha256Hex } from '../kit/index.ts'

/** What is hashed: everything of an entry but its own hash. */
export type AuditContent = Readonly<{
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
