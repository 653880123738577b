import type { LinkKind } from '../../core/people/index.ts'

/** A link of a mail that sets a password once. Its token is not stored. */
type PasswordLinkTable = {
  id: string
  tenant_id: string
  user_id: string
  kind: LinkKind
  /** The network of the request. */
  network: string
  /** SHA-256 of the mail address: a link to a former address is not valid. */
  address_hash: string
  created_at: string
  expires_at: string
  /** A used link stays until it expires, and counts against the bounds. */
  used_at: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    password_links: PasswordLinkTable
  }
}
