// Users of tenants: create, import, change and disable them, reset passwords, and sync them to the chat server of their tenant.
// The database decides. Changes reach the chat server through jobs, and all users are synced again after a restore.
// Stores no password. Ends no session itself: that is a port wired by the app.
import './users.tables.ts'
import { feature } from '../feature/index.ts'
import type { UsersDeps } from './deps.ts'
import { userResyncJobs } from './resync-users.ts'
import { userSyncJobs } from './sync-users.ts'
import { usersRoutes } from './users.routes.ts'

export { changeProfile, changeUser, disableUser, enableUser } from './change-user.ts'
export { assertFitPassword, createUser, ensureUser } from './create-user.ts'
export type { DelegatedRules, UserChange, UsersDeps, UsersPorts } from './deps.ts'
export { eraseUserRecord } from './erase-user.ts'
export { importUsers } from './import-users.ts'
export { loadRoleBook } from './load-role-book.ts'
export {
  acquirePasswordLease,
  type PasswordLease,
  passwordBusy,
  readPasswordVersion,
  recordUnderLease,
  releasePasswordLease,
  writeUnderLease,
} from './password-lease.ts'
export { passwordSetAt, recordPasswordSet, resetPassword } from './reset-password.ts'
export { userResyncJobs, userResyncListener } from './resync-users.ts'
export { pageOfUsers, userView } from './show-users.ts'
export { userSyncJobs } from './sync-users.ts'
export { activeUsersWith, activeUsersWithRole, findUser, findUserById, hasActiveUser, type UserRecord, usersAfter } from './users.repo.ts'
export { usersRoutes } from './users.routes.ts'

export const usersFeature = feature<UsersDeps>({
  name: 'users',
  routes: usersRoutes,
  jobs: (deps) => ({ ...userSyncJobs(deps), ...userResyncJobs(deps) }),
})
