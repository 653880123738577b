import { adminContract as contract } from '../../core/admin/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { type Served, serve } from '../http/index.ts'
import { publicAccounts } from './accounts.repo.ts'
import { changeAccountRole, createAccount, disableAccount, resetPassword } from './accounts.ts'
import type { AdminDeps } from './deps.ts'
import { login } from './login.ts'
import { changePassword } from './passwords.ts'
import { listSessions, logout, revokeSession, whoAmI } from './sessions.ts'
import { createToken, listLiveTokens, revokeToken } from './tokens.ts'
import { confirmTotp, disableTotp, enrolTotp } from './totp.ts'

/** For endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const adminRoutes = (deps: AdminDeps): Served[] => [
  serve(contract.login, ({ body, address }) => login(deps, { ...body, address })),
  serve(contract.logout, ({ actor }) => nothing(logout(deps, actor))),
  serve(contract.whoAmI, ({ actor }) => whoAmI(deps, actor)),
  serve(contract.changePassword, ({ actor, body, address }) => nothing(changePassword(deps, actor, { ...body, address }))),
  serve(contract.enrolTotp, ({ actor, body, address }) => enrolTotp(deps, actor, { ...body, address })),
  serve(contract.confirmTotp, ({ actor, body }) => confirmTotp(deps, actor, body)),
  serve(contract.disableTotp, ({ actor, body, address }) => nothing(disableTotp(deps, actor, { ...body, address }))),
  serve(contract.listSessions, async ({ actor, query }) => ({ sessions: await listSessions(deps, actor, query) })),
  serve(contract.revokeSession, ({ actor, params }) => nothing(revokeSession(deps, actor, params))),
  serve(contract.listAccounts, async () => ({ accounts: await publicAccounts(deps.db, isoNow(deps.clock)) })),
  serve(contract.createAccount, ({ actor, body }) => createAccount(deps, actor, body)),
  serve(contract.disableAccount, ({ actor, params }) => disableAccount(deps, actor, params)),
  serve(contract.changeAccountRole, ({ actor, params, body }) => changeAccountRole(deps, actor, { ...params, ...body })),
  serve(contract.resetPassword, ({ actor, params }) => resetPassword(deps, actor, params)),
  serve(contract.listTokens, async () => ({ tokens: await listLiveTokens(deps.db, isoNow(deps.clock)) })),
  serve(contract.createToken, ({ actor, body }) => createToken(deps, actor, body)),
  serve(contract.revokeToken, ({ actor, params }) => nothing(revokeToken(deps, actor, params))),
]
