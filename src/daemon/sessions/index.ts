// Sessions of tenants' users: login, refresh, logout, password, who is calling with a platform token, and whom a lock keeps out.
// A password goes to the tenant's chat server in one place only, after the attempt was counted. What a user may do is read from the record.
// It keeps no password and no chat token, and it never decides what a role may do.
import './sessions.tables.ts'
import { feature, repeat } from '../feature/index.ts'
import type { SessionsDeps } from './deps.ts'
import { forgetLoginFailures, forgetSessions } from './forget-sessions.ts'
import { sessionsRoutes } from './sessions.routes.ts'

export { type AuthenticateUser, authenticateUser } from './authenticate-user.ts'
export type { SessionsDeps } from './deps.ts'
export { forgetLoginFailures, forgetSessions } from './forget-sessions.ts'
export { liftLock } from './login-attempts.ts'
export { endUserSessions } from './revocations.ts'
export { sessionsRoutes } from './sessions.routes.ts'
export { waitingLogins } from './waiting-logins.ts'

export const sessionsFeature = feature<SessionsDeps>({
  name: 'sessions',
  routes: sessionsRoutes,
  loops: (deps) => [repeat(deps, { everyMs: 60_000, name: 'deleting failed logins', run: () => forgetLoginFailures(deps) })],
  cleanup: (deps) => [(signal) => forgetSessions(deps, signal)],
})
