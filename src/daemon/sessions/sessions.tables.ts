import type { EndedBy } from '../../core/sessions/index.ts'

type SessionTable = {
  /** The claim `fam` of its tokens. */
  id: string
  tenant_id: string
  user_id: string
  device_name: string
  network: string
  created_at: string
  /** Time of the login or the last refresh. */
  used_at: string
  /** The fixed end of the session. */
  expires_at: string
  ended_at: string | null
  ended_by: EndedBy | null
}

type RefreshTokenTable = {
  /** SHA-256 of the token, which is not stored. */
  hash: string
  session_id: string
  /** Null for the first token of a session. */
  parent_hash: string | null
  created_at: string
  /** The idle end, never after the end of the session. */
  expires_at: string
  /** Rows stay until the session ends, to detect reuse. */
  used_at: string | null
  /** Set while a used token may be presented again: see `successorOf`. Useless without the token, of which only the hash is stored. */
  successor_salt: string | null
}

/** `subject`: hash of tenant and canonical name. `network`: empty for all networks the user has not logged in from. */
type LoginFailureTable = {
  subject: string
  network: string
  failures: number
  /** Attempts whose password is being checked. */
  pending: number
  pending_at: string
  /** When the failures, and the lock, expire. */
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
