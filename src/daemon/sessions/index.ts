// Sessions of tenants' users: login, refresh, logout, password change, and the authentication of platform tokens.
// Every password check goes through one function, under a counted attempt. Permissions are read from the database, never from the token.
// Stores no password and no chat token. Does not decide what a role may do.
import './sessions.tables.ts'
import { feature, repeat } from '../feature/index.ts'
import type { SessionsDeps } from './deps.ts'
import { deleteExpiredFailures } from './login-attempts.ts'
import { deleteExpiredSessions } from './sessions.repo.ts'
import { sessionsRoutes } from './sessions.routes.ts'

export { type AuthenticateUser, authenticateUser } from './authenticate-user.ts'
export { deleteUserSessions } from './delete-user-sessions.ts'
export type { SessionsDeps } from './deps.ts'
export { endUserSessions, revokeOwnSession } from './end-sessions.ts'
export { login } from './login.ts'
export { deleteExpiredFailures, lockedUntil, loginWaiters, unlockLogin } from './login-attempts.ts'
export { countOpenSessions, deleteExpiredSessions } from './sessions.repo.ts'
export { sessionsRoutes } from './sessions.routes.ts'

export const sessionsFeature = feature<SessionsDeps>({
  name: 'sessions',
  routes: sessionsRoutes,
  loops: (deps) => [repeat(deps, { everyMs: 60_000, name: 'deleting failed logins', run: () => deleteExpiredFailures(deps) })],
  cleanup: (deps) => [(signal) => deleteExpiredSessions(deps, signal)],
})
