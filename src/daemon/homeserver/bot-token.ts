import { type ChatAnswer, errcodeOf, type Fault, faultOf, unexpected } from '../../core/homeserver/index.ts'
import { Secret } from '../../core/kit/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { boxSecret } from '../boxes/index.ts'
import type { ChatRequest } from './chat-client.ts'
import type { ChatTarget } from './chat-target.ts'
import type { TokenDeps } from './stored-tokens.ts'

/** The account that sends the platform's messages, in the namespace of the application service. */
const botLocalpart = 'tenantry-bot'

export const botOf = ({ chatDomain }: Pick<ChatTarget, 'chatDomain'>): string => matrixUserIdOf(botLocalpart, chatDomain)

/** One device for ever: the chat server remembers the transaction ids of a device, also over its restart, for a day. */
const device = { device_id: 'TENANTRYBOT', initial_device_display_name: 'Tenantry' }

/** Sends a request with a token. */
type Ask = (request: Omit<ChatRequest, 'headers'>, token: Secret) => Promise<ChatAnswer>

/** Logs the bot in on its device, and creates its account where it is missing, such as after a restore. */
export async function loginBot(deps: TokenDeps, ask: Ask, target: ChatTarget): Promise<Secret | Fault> {
  const service = await boxSecret(deps, target.boxId, 'appserviceToken')
  if (!service)
    return { kind: 'unreachable', retryAfterSeconds: 60, reason: 'its host has not delivered the token of the application service' }
  const login = { type: 'm.login.application_service', identifier: { type: 'm.id.user', user: botOf(target) }, ...device }
  const tryLogin = () => ask({ method: 'POST', path: '/_matrix/client/v3/login', body: login }, service)
  let answer = await tryLogin()
  // A server without the account answers 404 M_UNKNOWN, older ones 403.
  if (answer.status !== 200 && faultOf(answer) === undefined) {
    const body = { type: 'm.login.application_service', username: botLocalpart, inhibit_login: true }
    const made = await ask({ method: 'POST', path: '/_matrix/client/v3/register', body }, service)
    if (made.status !== 200 && errcodeOf(made) !== 'M_USER_IN_USE') return faultOf(made) ?? unexpected(made)
    answer = await tryLogin()
  }
  const { access_token: token } = answer.json ?? {}
  if (answer.status !== 200 || typeof token !== 'string') return faultOf(answer) ?? unexpected(answer)
  return new Secret(token)
}
