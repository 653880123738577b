import { sessionsContract as contract } from '../../core/sessions/index.ts'
import { serveContract } from '../http/index.ts'
import { changePassword } from './change-password.ts'
import type { SessionsDeps } from './deps.ts'
import { logout, revokeOwnSession, revokeUserSession } from './end-sessions.ts'
import { listOwnSessions, listUserSessions } from './list-sessions.ts'
import { login } from './login.ts'
import { refresh } from './tokens.ts'

/** Verbs without an answer, for endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const sessionsRoutes = (deps: SessionsDeps) =>
  serveContract(contract, {
    userLogin: ({ body, address, signal, setTenant, setCaller }) => login(deps, { ...body, address, signal, setTenant, setCaller }),
    refresh: ({ body, setTenant }) => refresh(deps, { refreshToken: body.refresh_token, setTenant }),
    userLogout: ({ body, header, setTenant }) =>
      nothing(logout(deps, { refreshToken: body.refresh_token, authorization: header('authorization'), setTenant })),
    changeUserPassword: ({ actor, body, address, signal }) => nothing(changePassword(deps, actor, { ...body, address, signal })),
    listOwnSessions: ({ actor, query }) => listOwnSessions(deps, actor, query),
    revokeOwnSession: ({ actor, params }) => nothing(revokeOwnSession(deps, actor, params)),
    listUserSessions: ({ params, query }) => listUserSessions(deps, { ...params, ...query }),
    revokeUserSession: ({ actor, params }) => nothing(revokeUserSession(deps, actor, params)),
  })
