// `tenantry login|logout|whoami`, `tokens`, `accounts`: who the operator is, and who else may do what.
// A token of a login is kept for this person on this machine only; passwords and one-time codes are never kept.
import { noun } from '../kit/index.ts'
import { changeRole, createAccount, disableAccount, listAccounts } from './accounts.ts'

import { createToken, listTokens, revokeToken } from './tokens.ts'

export { login, logout, whoAmI } from './login.ts'

export const tokens = noun('tokens', 'API tokens for scripts', [listTokens, createToken, revokeToken])
export const accounts = noun('accounts', 'People who may log in, and their roles', [
  listAccounts,
  createAccount,
  disableAccount,
  changeRole,
])
