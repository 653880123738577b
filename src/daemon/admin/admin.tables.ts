import type { AdminRole } from '../../core/contract/index.ts'

export type AdminAccountTable = {
  id: string
  name: string
  role: AdminRole
  status: 'active' | 'disabled'
  /** Null after an initial password expired: login is impossible. */
  password_hash: string | null
  initial_password_expires_at: string | null
  /** Sealed; used only after it was confirmed. */
  totp_secret: string | null
  totp_confirmed_at: string | null
  /** Time step of the last accepted code; codes up to it are rejected. */
  totp_step: number | null
  last_login_at: string | null
  /** Issuer and subject of an account that logs in at the provider; null for one with a password. */
  provider_issuer: string | null
  provider_subject: string | null
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
  /** Console sessions only: SHA-256 of its cookie. Null for a session with a token. */
  cookie_hash: string | null
  /** Console sessions only: the last call by a person. */
  last_used_at: string | null
  /** When the session last gave password and code; null: never, as by a login link. */
  proven_at: string | null
}

/** Logins of command lines that wait for approval, or for their command line to take them. */
type CliLoginTable = {
  device_hash: string
  user_code: string
  address: string
  created_at: string
  expires_at: string
  /** The account that approved it, and when its person had given password and code. */
  account_id: string | null
  proven_at: string | null
}

export type PasskeyTable = {
  id: string
  account_id: string
  name: string
  /** The id and the public key in COSE form that the authenticator gave, in base64url. */
  credential_id: string
  public_key: string
  /** Uses that the authenticator counted; 0 where it does not count. */
  sign_count: number
  created_at: string
  last_used_at: string | null
}

/** Challenges that a browser answered: each counts once. */
type PasskeyChallengeTable = { hash: string; expires_at: string }

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

/** Names are hashed, because people type passwords into the name field. `network` is empty for unknown networks. */
type LoginFailureTable = { name_hash: string; network: string; failures: number; forget_at: string; locked_until: string | null }

type LoginNetworkTable = { name_hash: string; network: string; last_login_at: string }

declare module '../db/database.ts' {
  interface Tables {
    admin_accounts: AdminAccountTable
    admin_recovery_codes: RecoveryCodeTable
    admin_sessions: AdminSessionTable
    admin_cli_logins: CliLoginTable
    admin_passkeys: PasskeyTable
    admin_passkey_challenges: PasskeyChallengeTable
    api_tokens: ApiTokenTable
    login_failures: LoginFailureTable
    login_networks: LoginNetworkTable
  }
}
