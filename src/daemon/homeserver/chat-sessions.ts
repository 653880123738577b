import {
  type ChatAnswer,
  type Done,
  errcodeOf,
  type Homeserver,
  type LoggedIn,
  unexpected,
  type WhoIs,
} from '../../core/homeserver/index.ts'
import { Secret, type TenantId } from '../../core/kit/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { type CallDeps, enter, isAnswer, isCaller } from './call.ts'

type Login = Parameters<Homeserver['login']>[0]

/** Checks a password and makes a named device. A token for somebody else than was asked for is ended and counts as a refusal. */
export async function loginChat(deps: CallDeps, tenantId: TenantId, { localpart, password, deviceName, signal }: Login): Promise<LoggedIn> {
  const caller = await enter(deps, tenantId, 'write')
  if (!isCaller(caller)) return caller
  const userId = matrixUserIdOf(localpart, caller.door.chatDomain)
  const identifier = { type: 'm.id.user', user: userId }
  const body = { type: 'm.login.password', identifier, password: password.reveal(), initial_device_display_name: deviceName }
  const answer = await caller.call({ method: 'POST', path: '/_matrix/client/v3/login', body, as: 'nobody', login: { signal } })
  if (!isAnswer(answer)) return answer
  const result = loggedIn(answer)
  if (result.kind !== 'ok' || result.userId === userId) return result
  await caller.call({ method: 'POST', path: '/_matrix/client/v3/logout', body: {}, as: result.accessToken })
  return { kind: 'refused' }
}

function loggedIn(answer: ChatAnswer): LoggedIn {
  const { user_id, access_token, device_id } = answer.json ?? {}
  if (answer.status === 200 && typeof user_id === 'string' && typeof access_token === 'string' && typeof device_id === 'string')
    return { kind: 'ok', userId: user_id, deviceId: device_id, accessToken: new Secret(access_token) }
  const kinds = { M_FORBIDDEN: 'refused', M_USER_LOCKED: 'locked', M_USER_DEACTIVATED: 'deactivated' } as const
  const kind = kinds[errcodeOf(answer) as keyof typeof kinds]
  return kind ? { kind } : unexpected(answer)
}

/** Ends the session of a token. */
export async function logoutChat(deps: CallDeps, tenantId: TenantId, token: Secret): Promise<Done> {
  const caller = await enter(deps, tenantId, 'write')
  if (!isCaller(caller)) return caller
  const answer = await caller.call({ method: 'POST', path: '/_matrix/client/v3/logout', body: {}, as: token })
  if (!isAnswer(answer)) return answer
  return answer.status === 200 || errcodeOf(answer) === 'M_UNKNOWN_TOKEN' ? { kind: 'ok' } : unexpected(answer)
}

/** Whose token it is. */
export async function whoIs(deps: CallDeps, tenantId: TenantId, token: Secret): Promise<WhoIs> {
  const caller = await enter(deps, tenantId, 'read')
  if (!isCaller(caller)) return caller
  const answer = await caller.call({ method: 'GET', path: '/_matrix/client/v3/account/whoami', as: token })
  if (!isAnswer(answer)) return answer
  const { user_id, device_id } = answer.json ?? {}
  if (answer.status === 200 && typeof user_id === 'string')
    return { kind: 'ok', userId: user_id, deviceId: typeof device_id === 'string' ? device_id : null }
  const kinds = { M_UNKNOWN_TOKEN: 'unknown_token', M_USER_LOCKED: 'locked', M_USER_DEACTIVATED: 'deactivated' } as const
  const kind = kinds[errcodeOf(answer) as keyof typeof kinds]
  return kind ? { kind } : unexpected(answer)
}
