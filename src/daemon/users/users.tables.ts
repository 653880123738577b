import type { Generated, Selectable } from 'kysely'
import type { UserStatus } from '../../core/users/index.ts'

type UserTable = {
  id: string
  tenant_id: string
  /** Canonical: lower case. One row for each in a tenant. */
  localpart: string
  display_name: string | null
  locale: string | null
  avatar_url: string | null
  /** JSON: names of roles. */
  roles: string
  status: UserStatus
  created_at: string
  updated_at: string
  /** Since when nobody knows the chat password: the account was made anew after a restore. */
  password_unknown_since: string | null
  /** What others find it by: `searchNameOf` its names. */
  search_name: Generated<string>
  /** Counts up when somebody begins to write the chat password, and when it is written. */
  password_turn: Generated<number>
  /** Until when whoever writes it has the turn at most. */
  password_turn_until: Generated<string | null>
}

export type UserRow = Selectable<UserTable>

declare module '../db/database.ts' {
  interface Tables {
    users: UserTable
  }
}

/** Of users whose password was changed through the platform; nothing of the password itself. */
type UserPasswordTable = {
  user_id: string
  tenant_id: string
  set_at: string
  /** Since when an earlier one counts again: the chat server went back to a day before `set_at`. */
  old_since: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    user_passwords: UserPasswordTable
  }
}
