import type { EndedBy } from '../../core/sessions/index.ts'

type SessionTable = {
  /** The claim `fam`, and the family of its refresh tokens. */
  id: string
  tenant_id: string
  user_id: string
  device_name: string
  network: string
  created_at: string
  /** Of the last login or refresh. */
  used_at: string
  /** Absolute: nothing moves it. */
  expires_at: string
  ended_at: string | null
  ended_by: EndedBy | null
}

type RefreshTokenTable = {
  /** SHA-256: the token itself is nowhere. */
  hash: string
  session_id: string
  /** Null for the first of its family. */
  parent_hash: string | null
  created_at: string
  /** The idle end, never after the family's. */
  expires_at: string
  /** Used, or passed over because a sibling was used. Such rows stay until the family's end, to be known again. */
  used_at: string | null
}

/** `subject` is a hash of tenant and canonical name; `network` is empty for all networks that the user is not known from. */
type LoginFailureTable = {
  subject: string
  network: string
  failures: number
  /** Attempts whose password is being looked at. */
  pending: number
  pending_at: string
  /** When the failures are forgotten, and with them the lock. */
  until: string
}

type LoginNetworkTable = { subject: string; network: string; last_login_at: string }

declare module '../db/database.ts' {
  interface Tables {
    sessions: SessionTable
    refresh_tokens: RefreshTokenTable
    user_login_failures: LoginFailureTable
    user_login_networks: LoginNetworkTable
  }
}
