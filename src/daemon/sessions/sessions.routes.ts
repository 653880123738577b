import { sessionsContract as contract } from '../../core/sessions/index.ts'
import { type Served, serve } from '../http/index.ts'
import { changePassword } from './change-password.ts'
import type { SessionsDeps } from './deps.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { refresh } from './refresh.ts'
import { listOwnSessions, listUserSessions, revokeOwnSession, revokeUserSession } from './user-sessions.ts'

/** Verbs without an answer, for endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const sessionsRoutes = (deps: SessionsDeps): Served[] => [
  serve(contract.userLogin, ({ body, address, signal, tellTenant }) => login(deps, { ...body, address, signal, tellTenant })),
  serve(contract.refresh, ({ body, tellTenant }) => refresh(deps, { refreshToken: body.refresh_token, tellTenant })),
  serve(contract.userLogout, ({ body, header, tellTenant }) =>
    nothing(logout(deps, { refreshToken: body.refresh_token, authorization: header('authorization'), tellTenant })),
  ),
  serve(contract.changeUserPassword, ({ actor, body, address, signal }) =>
    nothing(changePassword(deps, actor, { ...body, address, signal })),
  ),
  serve(contract.listOwnSessions, ({ actor, query }) => listOwnSessions(deps, actor, query)),
  serve(contract.revokeOwnSession, ({ actor, params }) => nothing(revokeOwnSession(deps, actor, params))),
  serve(contract.listUserSessions, ({ params, query }) => listUserSessions(deps, { ...params, ...query })),
  serve(contract.revokeUserSession, ({ actor, params }) => nothing(revokeUserSession(deps, actor, params))),
]
