// Admin accounts, their sessions, one-time codes and API tokens: who is calling, and what every endpoint may believe about it.
// A password is looked at in one place only (prove-password), after the attempt was counted. Roles are read from the record, never from a token.
// It decides nothing about what a role may do: endpoints declare that.
import './admin.tables.ts'

export { adminRoutes } from './admin.routes.ts'
export { authenticateAdmin } from './authenticate-admin.ts'
export { cleanExpiredCredentials } from './clean-expired-credentials.ts'
export { createAccountWithPassword } from './create-account.ts'
export type { AdminDeps } from './deps.ts'
export { resetTotp } from './reset-totp.ts'
export { adminSealedColumns } from './sealed-columns.ts'
export { unlockAccount } from './unlock-account.ts'
