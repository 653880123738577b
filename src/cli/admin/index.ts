// `tenantry login|logout|whoami`, `tokens`, `accounts`: who the operator is, and who else may do what.
// A token of a login is kept for this person on this machine only; passwords and one-time codes are never kept.
import { noun } from '../kit/index.ts'
import { createAccount } from './accounts-create.ts'
import { disableAccount } from './accounts-disable.ts'
import { listAccounts } from './accounts-list.ts'
import { changeRole } from './accounts-role.ts'
import { createToken } from './tokens-create.ts'
import { listTokens } from './tokens-list.ts'
import { revokeToken } from './tokens-revoke.ts'

export { login } from './login.ts'
export { logout } from './logout.ts'
export { whoAmI } from './whoami.ts'

export const tokens = noun('tokens', 'API tokens for scripts', [listTokens, createToken, revokeToken])
export const accounts = noun('accounts', 'People who may log in, and their roles', [
  listAccounts,
  createAccount,
  disableAccount,
  changeRole,
])
