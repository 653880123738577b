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
}

/** The last entry of each chain; its row is locked while one is appended. */
type AuditHeadTable = { chain: string; seq: number; hash: string }

declare module '../db/database.ts' {
  interface Tables {
    audit: AuditTable
    audit_heads: AuditHeadTable
  }
}
