import { type ChatAnswer, type Created, type Done, errcodeOf, errorOf, type NewChatUser, unexpected } from '../../core/homeserver/index.ts'
import type { Secret, TenantId } from '../../core/kit/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { boxSecret } from '../boxes/index.ts'
import { registerAccount } from './admin-token.ts'
import { type CallDeps, type Connection, connect, isAnswer, isConnection } from './call.ts'

const refusedCodes = new Set([
  'M_INVALID_USERNAME',
  'M_EXCLUSIVE',
  'M_WEAK_PASSWORD',
  'M_PASSWORD_TOO_SHORT',
  'M_INVALID_PARAM',
  'M_UNKNOWN',
])

const refused = (answer: ChatAnswer) => ({ kind: 'refused', reason: errorOf(answer) || errcodeOf(answer) }) as const

/** Creates an account with a password. An existing account is unchanged. */
export async function createChatUser(deps: CallDeps, tenantId: TenantId, user: NewChatUser): Promise<Created> {
  const connection = await connect(deps, tenantId, 'write')
  if (!isConnection(connection)) return connection
  const registration = await boxSecret(deps, connection.target.boxId, 'registrationSharedSecret')
  if (!registration) return { kind: 'unreachable', retryAfterSeconds: 60, reason: 'its host has not delivered its registration secret' }
  const failed: { fault?: Created } = {}
  const ask = async (request: Parameters<Parameters<typeof registerAccount>[0]>[0]): Promise<ChatAnswer> => {
    const result = await connection.call({ ...request, as: 'anonymous' })
    if (isAnswer(result)) return result
    failed.fault = result
    return { status: 0, json: undefined }
  }
  const answer = await registerAccount(ask, registration, { ...user, admin: false })
  if (failed.fault) return failed.fault
  if (answer.status === 200) return { kind: 'created' }
  if (errcodeOf(answer) === 'M_USER_IN_USE') return { kind: 'exists' }
  return answer.status === 400 && refusedCodes.has(errcodeOf(answer)) ? refused(answer) : unexpected(answer)
}

type NewPassword = Readonly<{ localpart: string; password: Secret; logOutDevices?: boolean | undefined }>

/** Sets a password. Devices and their tokens stay valid unless `logOutDevices` is set. */
export async function changeChatPassword(deps: CallDeps, tenantId: TenantId, ask: NewPassword): Promise<Done> {
  const connection = await connect(deps, tenantId, 'write')
  if (!isConnection(connection)) return connection
  const { localpart, password, logOutDevices = false } = ask
  const path = `/_synapse/admin/v1/reset_password/${idOf(connection, localpart)}`
  const body = { new_password: password.reveal(), logout_devices: logOutDevices }
  return done(await connection.call({ method: 'POST', path, body, as: 'admin' }))
}

type Account = Readonly<Record<string, unknown>>
type Change = Readonly<{ localpart: string; holds: (account: Account) => boolean; body: Account }>

/** Reads the account first: the admin API's PUT would create a missing user, and an unchanged value needs no write. */
async function changeAccount(deps: CallDeps, tenantId: TenantId, { localpart, holds, body }: Change): Promise<Done> {
  const connection = await connect(deps, tenantId, 'write')
  if (!isConnection(connection)) return connection
  const path = `/_synapse/admin/v2/users/${idOf(connection, localpart)}`
  const found = await connection.call({ method: 'GET', path, as: 'admin' })
  if (!isAnswer(found) || found.status !== 200) return done(found)
  if (found.json && holds(found.json)) return { kind: 'ok' }
  return done(await connection.call({ method: 'PUT', path, body, as: 'admin' }))
}

type Locked = Readonly<{ localpart: string; locked: boolean }>

export const setChatLock = (deps: CallDeps, tenantId: TenantId, { localpart, locked }: Locked): Promise<Done> =>
  changeAccount(deps, tenantId, { localpart, holds: (account) => account.locked === locked, body: { locked } })

/** Synapse then removes password, devices, profile and third-party ids, and leaves all rooms in the background. */
export async function eraseChatUser(deps: CallDeps, tenantId: TenantId, { localpart }: Readonly<{ localpart: string }>): Promise<Done> {
  const connection = await connect(deps, tenantId, 'write')
  if (!isConnection(connection)) return connection
  const id = idOf(connection, localpart)
  const found = await connection.call({ method: 'GET', path: `/_synapse/admin/v2/users/${id}`, as: 'admin' })
  if (!isAnswer(found) || found.status !== 200) return done(found)
  if (found.json?.deactivated === true && found.json.erased === true) return { kind: 'ok' }
  return done(await connection.call({ method: 'POST', path: `/_synapse/admin/v1/deactivate/${id}`, body: { erase: true }, as: 'admin' }))
}

type Named = Readonly<{ localpart: string; displayName: string | null }>

/** Sets the display name in the user's chat profile. */
export const setChatName = (deps: CallDeps, tenantId: TenantId, { localpart, displayName }: Named): Promise<Done> =>
  changeAccount(deps, tenantId, {
    localpart,
    holds: ({ displayname }) => displayname === displayName,
    body: { displayname: displayName ?? '' },
  })

const idOf = ({ target }: Connection, localpart: string): string => encodeURIComponent(matrixUserIdOf(localpart, target.chatDomain))

function done(result: Awaited<ReturnType<Connection['call']>>): Done {
  if (!isAnswer(result)) return result
  if (result.status === 200) return { kind: 'ok' }
  if (errcodeOf(result) === 'M_NOT_FOUND') return { kind: 'absent' }
  return result.status === 400 ? refused(result) : unexpected(result)
}
