export type AuditTable = {
  chain: string
  seq: number
  at: string
  actor: string
  action: string
  subject: string | null
  data: string
  previous_hash: string
  hash: string
  /** The subject up to its first slash: of an entry about a tenant or a user, the slug. It is not part of the hash. */
  about?: string | null
}

/** The last entry of each chain; its row is locked while one is appended. */
type AuditHeadTable = { chain: string; seq: number; hash: string }

declare module '../db/database.ts' {
  interface Tables {
    audit: AuditTable
    audit_heads: AuditHeadTable
  }
}
