// Admin accounts, their sessions, TOTP and API tokens: authenticates callers of the admin API.
// Passwords are verified in one place (`verifyPassword`), after the attempt was counted. Roles come from the database, never from a token.
// It does not decide what a role may do: endpoints declare that.
import './admin.tables.ts'
import { feature } from '../feature/index.ts'
import { adminSealedColumns } from './accounts.repo.ts'
import { adminRoutes } from './admin.routes.ts'
import { type CleanupDeps, passwordCleanup } from './clean-expired-credentials.ts'
import type { AdminDeps } from './deps.ts'

export { createAccountWithPassword, unlockAccount } from './accounts.ts'
export { adminRoutes } from './admin.routes.ts'
export { authenticateAdmin } from './authenticate-admin.ts'
export { authenticateConsole } from './authenticate-console.ts'
export { cleanExpiredCredentials } from './clean-expired-credentials.ts'
export { consoleAccess } from './console-access.ts'
export { makeLoginLinks } from './console-sessions.ts'
export type { AdminDeps, LoginLinks } from './deps.ts'
export { type CompanyLogin, openLoginProvider } from './login-provider.ts'
export { resetTotp } from './totp.ts'

export const adminFeature = feature<AdminDeps & CleanupDeps>({
  name: 'admin',
  routes: adminRoutes,
  crons: (deps) => [passwordCleanup(deps)],
  sealed: adminSealedColumns,
})
