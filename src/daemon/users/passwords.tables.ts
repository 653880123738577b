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
