import type { AdminRole } from '../../core/contract/index.ts'

export type AdminAccountTable = {
  id: string
  name: string
  role: AdminRole
  status: 'active' | 'disabled'
  /** Null once an initial password expired: nobody can log in with it. */
  password_hash: string | null
  initial_password_expires_at: string | null
  /** Sealed; it counts only once it was confirmed. */
  totp_secret: string | null
  totp_confirmed_at: string | null
  /** The time step of the last code that was taken: none before or at it is taken again. */
  totp_step: number | null
  last_login_at: string | null
  created_at: string
  created_by: string
}

type RecoveryCodeTable = { account_id: string; hash: string; used_at: string | null }

type AdminSessionTable = {
  id: string
  account_id: string
  address: string
  created_at: string
  expires_at: string
  revoked_at: string | null
}

type ApiTokenTable = {
  id: string
  name: string
  role: 'viewer' | 'reviewer' | 'operator'
  prefix: string
  hash: string
  account_id: string
  created_at: string
  expires_at: string
  last_used_at: string | null
}

/** Names are hashed: people type passwords into the wrong field. `network` is empty for all networks the account is not known from. */
type LoginFailureTable = { name_hash: string; network: string; failures: number; forget_at: string; locked_until: string | null }

type LoginNetworkTable = { name_hash: string; network: string; last_login_at: string }

declare module '../db/database.ts' {
  interface Tables {
    admin_accounts: AdminAccountTable
    admin_recovery_codes: RecoveryCodeTable
    admin_sessions: AdminSessionTable
    api_tokens: ApiTokenTable
    login_failures: LoginFailureTable
    login_networks: LoginNetworkTable
  }
}
