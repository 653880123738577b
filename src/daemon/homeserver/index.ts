// Access to each tenant's chat server, through the platform listener of its box's edge.
// Decides where the chat server is reached and whether the fence allows a write. Callers decide what follows from a result.
// Stores no password and no token of a user.
import type { Homeserver, Homeservers } from '../../core/homeserver/index.ts'
import { feature } from '../feature/index.ts'
import { changeChatPassword, createChatUser, eraseChatUser, setChatLock, setChatName } from './accounts.ts'
import { loginChat, logoutChat, type ReadDeps, readChat, sendToChat, whoIs } from './chat-sessions.ts'
import { homeserverRoutes } from './platform-address.ts'
import { homeserverSealedColumns } from './stored-tokens.ts'

export { adminLocalpart } from './admin-token.ts'
export { sendAsBot } from './bot.ts'
export { botOf } from './bot-token.ts'
export { homeserverProblem } from './call.ts'
export { makeChatClient, ofReaders } from './chat-client.ts'
export { plainNetworks } from './plain-networks.ts'
export { homeserverRoutes } from './platform-address.ts'
export { publicHostOf } from './public-host.ts'

/** The chat servers of all tenants. */
export function makeHomeservers(ports: Omit<ReadDeps, 'renewals'>): Homeservers {
  const deps: ReadDeps = { ...ports, renewals: new Map() }
  return {
    of: (tenantId): Homeserver => ({
      login: (login) => loginChat(deps, tenantId, login),
      logout: (token) => logoutChat(deps, tenantId, token),
      whoami: (token) => whoIs(deps, tenantId, token),
      changePassword: (change) => changeChatPassword(deps, tenantId, change),
      createUser: (user) => createChatUser(deps, tenantId, user),
      setLocked: (lock) => setChatLock(deps, tenantId, lock),
      erase: (account) => eraseChatUser(deps, tenantId, account),
      setDisplayName: (name) => setChatName(deps, tenantId, name),
      send: (request) => sendToChat(deps, tenantId, request),
      read: (request) => readChat(deps, tenantId, request),
    }),
  }
}

export const homeserverFeature = feature<Parameters<typeof homeserverRoutes>[0]>({
  name: 'homeserver',
  routes: homeserverRoutes,
  sealed: homeserverSealedColumns,
})
