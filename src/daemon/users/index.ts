// The registry of tenants' users: who they are, their roles, whether they may log in.
// What it changes in the chat server goes through jobs; it never holds a password and never ends a session itself.
import './users.tables.ts'

export { restoreWork, usersListener } from './after-restore.ts'
export { changeProfile } from './change-profile.ts'
export type { UsersPorts } from './deps.ts'
export { ensureUser } from './ensure-user.ts'
export { loadRoleBook } from './load-role-book.ts'
export { recordPasswordSet } from './old-passwords.ts'
export { endPasswordTurn, type PasswordTurn, passwordBeingSet, passwordTurnBefore, takePasswordTurn } from './password-turn.ts'
export { usersWork } from './sync-users.ts'
export { findUser, findUserById, type UserRecord } from './users.repo.ts'
export { usersRoutes } from './users.routes.ts'
export { noting, writing } from './write-password.ts'
