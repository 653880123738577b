// The platform's way to each tenant's chat server: through the platform listener of its box's edge, past one gate that knows the fence.
// It says what the server answered; what follows from that others decide. It keeps no user's password and no user's token.
import './homeserver.tables.ts'
import type { Homeserver, Homeservers } from '../../core/homeserver/index.ts'
import { feature } from '../feature/index.ts'
import { changeChatPassword, createChatUser, setChatLock, setChatName } from './accounts.ts'
import { homeserverSealedColumns } from './admin-token.ts'
import type { CallDeps } from './call.ts'
import { loginChat, logoutChat, whoIs } from './chat-sessions.ts'
import { homeserverRoutes } from './platform-address.ts'
import { sendToChat } from './send.ts'

export { adminLocalpart, homeserverSealedColumns } from './admin-token.ts'
export { makeAsk } from './ask.ts'
export { plainNetworks } from './plain-networks.ts'
export { homeserverRoutes } from './platform-address.ts'
export { homeserverProblem } from './problem-of.ts'

/** The chat servers of all tenants. */
export const makeHomeservers = (deps: CallDeps): Homeservers => ({
  of: (tenantId): Homeserver => ({
    login: (login) => loginChat(deps, tenantId, login),
    logout: (token) => logoutChat(deps, tenantId, token),
    whoami: (token) => whoIs(deps, tenantId, token),
    changePassword: (change) => changeChatPassword(deps, tenantId, change),
    createUser: (user) => createChatUser(deps, tenantId, user),
    setLocked: (lock) => setChatLock(deps, tenantId, lock),
    setDisplayName: (name) => setChatName(deps, tenantId, name),
    send: (request) => sendToChat(deps, tenantId, request),
  }),
})

export const homeserverFeature = feature<Parameters<typeof homeserverRoutes>[0]>({
  name: 'homeserver',
  routes: homeserverRoutes,
  sealed: homeserverSealedColumns,
})
