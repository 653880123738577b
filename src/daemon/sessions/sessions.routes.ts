import { sessionsContract as contract } from '../../core/sessions/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changePassword } from './change-password.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import type { SessionsNeeds } from './needs.ts'
import { refresh } from './refresh.ts'
import { listOwnSessions, listUserSessions, revokeOwnSession, revokeUserSession } from './user-sessions.ts'

/** Verbs without an answer, for endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const sessionsRoutes = (needs: SessionsNeeds): Served[] => [
  serve(contract.userLogin, ({ body, address, signal, tellTenant }) => login(needs, { ...body, address, signal, tellTenant })),
  serve(contract.refresh, ({ body, tellTenant }) => refresh(needs, { refreshToken: body.refresh_token, tellTenant })),
  serve(contract.userLogout, ({ body, header, tellTenant }) =>
    nothing(logout(needs, { refreshToken: body.refresh_token, authorization: header('authorization'), tellTenant })),
  ),
  serve(contract.changeUserPassword, ({ actor, body, address, signal }) =>
    nothing(changePassword(needs, actor, { ...body, address, signal })),
  ),
  serve(contract.listOwnSessions, ({ actor, query }) => listOwnSessions(needs, actor, query)),
  serve(contract.revokeOwnSession, ({ actor, params }) => nothing(revokeOwnSession(needs, actor, params))),
  serve(contract.listUserSessions, ({ params, query }) => listUserSessions(needs, { ...params, ...query })),
  serve(contract.revokeUserSession, ({ actor, params }) => nothing(revokeUserSession(needs, actor, params))),
]
