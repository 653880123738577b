import { adminContract as contract } from '../../core/admin/index.ts'
import { isoNow } from '../../core/kit/index.ts'
import { type Served, serve } from '../http/index.ts'
import { shownAccounts } from './accounts.repo.ts'
import { changeAccountRole } from './change-account-role.ts'
import { changePassword } from './change-password.ts'
import { confirmTotp } from './confirm-totp.ts'
import { createAccount } from './create-account.ts'
import { createToken } from './create-token.ts'
import { disableAccount } from './disable-account.ts'
import { disableTotp } from './disable-totp.ts'
import { enrolTotp } from './enrol-totp.ts'
import { listSessions } from './list-sessions.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import type { AdminNeeds } from './needs.ts'
import { resetPassword } from './reset-password.ts'
import { revokeSession } from './revoke-session.ts'
import { revokeToken } from './revoke-token.ts'
import { listLiveTokens } from './tokens.repo.ts'
import { whoAmI } from './who-am-i.ts'

/** Verbs without an answer, for endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const adminRoutes = (needs: AdminNeeds): Served[] => [
  serve(contract.login, ({ body, address }) => login(needs, { ...body, address })),
  serve(contract.logout, ({ actor }) => nothing(logout(needs, actor))),
  serve(contract.whoAmI, ({ actor }) => whoAmI(needs, actor)),
  serve(contract.changePassword, ({ actor, body, address }) => nothing(changePassword(needs, actor, { ...body, address }))),
  serve(contract.enrolTotp, ({ actor, body, address }) => enrolTotp(needs, actor, { ...body, address })),
  serve(contract.confirmTotp, ({ actor, body }) => confirmTotp(needs, actor, body)),
  serve(contract.disableTotp, ({ actor, body, address }) => nothing(disableTotp(needs, actor, { ...body, address }))),
  serve(contract.listSessions, async ({ actor, query }) => ({ sessions: await listSessions(needs, actor, query) })),
  serve(contract.revokeSession, ({ actor, params }) => nothing(revokeSession(needs, actor, params))),
  serve(contract.listAccounts, async () => ({ accounts: await shownAccounts(needs.db, isoNow(needs.clock)) })),
  serve(contract.createAccount, ({ actor, body }) => createAccount(needs, actor, body)),
  serve(contract.disableAccount, ({ actor, params }) => disableAccount(needs, actor, params)),
  serve(contract.changeAccountRole, ({ actor, params, body }) => changeAccountRole(needs, actor, { ...params, ...body })),
  serve(contract.resetPassword, ({ actor, params }) => resetPassword(needs, actor, params)),
  serve(contract.listTokens, async () => ({ tokens: await listLiveTokens(needs.db, isoNow(needs.clock)) })),
  serve(contract.createToken, ({ actor, body }) => createToken(needs, actor, body)),
  serve(contract.revokeToken, ({ actor, params }) => nothing(revokeToken(needs, actor, params))),
]
