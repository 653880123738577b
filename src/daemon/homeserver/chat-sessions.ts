import {
  type ChatAnswer,
  type Done,
  errcodeOf,
  errorOf,
  type Homeserver,
  type LoggedIn,
  type ReadAnswer,
  type ServiceAnswer,
  type ServiceRequest,
  unexpected,
  type WhoIs,
} from '../../core/homeserver/index.ts'
import { Secret, type TenantId } from '../../core/kit/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { type CallDeps, connect, isAnswer, isConnection } from './call.ts'
import { type Ask, TooLarge } from './chat-client.ts'

type Login = Parameters<Homeserver['login']>[0]

/** Checks a password and creates a named device. A token of another user than requested is logged out and counts as refused. */
export async function loginChat(deps: CallDeps, tenantId: TenantId, { localpart, password, deviceName, signal }: Login): Promise<LoggedIn> {
  const connection = await connect(deps, tenantId, 'write')
  if (!isConnection(connection)) return connection
  const userId = matrixUserIdOf(localpart, connection.target.chatDomain)
  const identifier = { type: 'm.id.user', user: userId }
  const body = { type: 'm.login.password', identifier, password: password.reveal(), initial_device_display_name: deviceName }
  const answer = await connection.call({ method: 'POST', path: '/_matrix/client/v3/login', body, as: 'anonymous', login: { signal } })
  if (!isAnswer(answer)) return answer
  const result = loggedIn(answer)
  if (result.kind !== 'ok' || result.userId === userId) return result
  await connection.call({ method: 'POST', path: '/_matrix/client/v3/logout', body: {}, as: result.accessToken })
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

/** Logs out the session of a token. */
export async function logoutChat(deps: CallDeps, tenantId: TenantId, token: Secret): Promise<Done> {
  const connection = await connect(deps, tenantId, 'write')
  if (!isConnection(connection)) return connection
  const answer = await connection.call({ method: 'POST', path: '/_matrix/client/v3/logout', body: {}, as: token })
  if (!isAnswer(answer)) return answer
  return answer.status === 200 || errcodeOf(answer) === 'M_UNKNOWN_TOKEN' ? { kind: 'ok' } : unexpected(answer)
}

/** The user and device of a token. */
export async function whoIs(deps: CallDeps, tenantId: TenantId, token: Secret): Promise<WhoIs> {
  const connection = await connect(deps, tenantId, 'read')
  if (!isConnection(connection)) return connection
  const answer = await connection.call({ method: 'GET', path: '/_matrix/client/v3/account/whoami', as: token })
  if (!isAnswer(answer)) return answer
  const { user_id, device_id } = answer.json ?? {}
  if (answer.status === 200 && typeof user_id === 'string')
    return { kind: 'ok', userId: user_id, deviceId: typeof device_id === 'string' ? device_id : null }
  const kinds = { M_UNKNOWN_TOKEN: 'unknown_token', M_USER_LOCKED: 'locked', M_USER_DEACTIVATED: 'deactivated' } as const
  const kind = kinds[errcodeOf(answer) as keyof typeof kinds]
  return kind ? { kind } : unexpected(answer)
}

/** Sends a request as the application service, as the box's administrator or as the bot. */
export async function sendToChat(deps: CallDeps, tenantId: TenantId, request: ServiceRequest): Promise<ServiceAnswer> {
  const { method, path, body, by = 'service' } = request
  const connection = await connect(deps, tenantId, method === 'GET' ? 'read' : 'write')
  if (!isConnection(connection)) return connection
  const answer = await connection.call({ method, path, ...(body === undefined ? {} : { body }), as: by })
  if (!isAnswer(answer)) return answer
  if (answer.status >= 200 && answer.status < 300) return { kind: 'ok', json: answer.json ?? {} }
  return { kind: 'refused', status: answer.status, errcode: errcodeOf(answer), reason: errorOf(answer) }
}

/** `readAsk`: the client of reads that wait for messages. */
export type ReadDeps = CallDeps & Readonly<{ readAsk: Ask }>

/** Reads as the box's administrator, on the connection for reads. */
export async function readChat(
  { readAsk, ...deps }: ReadDeps,
  tenantId: TenantId,
  { path, signal }: Readonly<{ path: string; signal: AbortSignal }>,
): Promise<ReadAnswer> {
  let isTooLarge = false
  const ask: Ask = (origin, request) =>
    readAsk(origin, { ...request, ...(request.method === 'GET' ? { signal } : {}) }).catch((error) => {
      isTooLarge = error instanceof TooLarge
      throw error
    })
  const connection = await connect({ ...deps, ask }, tenantId, 'read')
  if (!isConnection(connection)) return connection
  const answer = await connection.call({ method: 'GET', path, as: 'admin' })
  if (isTooLarge) return { kind: 'too_large' }
  if (!isAnswer(answer)) return answer
  if (answer.status === 200) return { kind: 'ok', json: answer.json ?? {} }
  return { kind: 'refused', status: answer.status, errcode: errcodeOf(answer), reason: errorOf(answer) }
}
