// `tenantry login|logout|whoami`, `tokens`, `accounts`: logins, API tokens and roles of operators.
// `tenantry contexts` chooses between the daemons with a stored login.
// It stores the session token of a login in the user's config folder; it never stores passwords or one-time codes.
import { noun } from '../kit/index.ts'
import { changeRole, createAccount, disableAccount, listAccounts } from './accounts.ts'
import { listContexts, removeContext, useContext } from './contexts.ts'
import { listPasskeys, removePasskey } from './passkeys.ts'
import { createToken, listTokens, revokeToken } from './tokens.ts'

export { login, logout, whoAmI } from './login.ts'

export const tokens = noun('tokens', 'API tokens for scripts', [listTokens, createToken, revokeToken])
export const accounts = noun('accounts', 'Operator accounts and their roles', [
  listAccounts,
  createAccount,
  disableAccount,
  changeRole,
  listPasskeys,
  removePasskey,
])
export const contexts = noun('contexts', 'Daemons with a stored login', [listContexts, useContext, removeContext])
