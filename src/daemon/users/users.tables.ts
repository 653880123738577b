import type { Generated, Selectable } from 'kysely'
import type { UserStatus } from '../../core/users/index.ts'

type UserTable = {
  id: string
  tenant_id: string
  /** Canonical: lower case. Unique in a tenant. */
  localpart: string
  display_name: string | null
  locale: string | null
  avatar_url: string | null
  /** JSON array of role names. */
  roles: string
  status: UserStatus
  created_at: string
  updated_at: string
  /** Set when the chat account was recreated after a restore, until the password is set. */
  password_unknown_since: string | null
  /** `searchNameOf` of the user. */
  search_name: Generated<string>
  /** The password version: counts up when a write of the chat password begins and when it ends. */
  password_version: Generated<number>
  /** End of the password lease; null: no write in progress. */
  password_lease_until: Generated<string | null>
  /** Where mails about the account go. Null: the user has none. */
  email: Generated<string | null>
  /** 1: the administration chose the password, and the user must replace it. */
  password_initial: Generated<number>
}

export type UserRow = Selectable<UserTable>

declare module '../db/database.ts' {
  interface Tables {
    users: UserTable
  }
}

/** Users whose password was set through the platform. Contains no password. */
type UserPasswordTable = {
  user_id: string
  tenant_id: string
  set_at: string
  /** When a restore reverted the password to one older than `set_at`; null: the newest is valid. */
  old_since: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    user_passwords: UserPasswordTable
  }
}
