import { type ChatAnswer, type Created, type Done, errcodeOf, errorOf, type NewChatUser, unexpected } from '../../core/homeserver/index.ts'
import type { Secret, TenantId } from '../../core/kit/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { boxSecret } from '../boxes/index.ts'
import { type CallDeps, type Caller, enter, isAnswer, isCaller } from './call.ts'
import { registerAccount } from './register.ts'

const refusedCodes = new Set([
  'M_INVALID_USERNAME',
  'M_EXCLUSIVE',
  'M_WEAK_PASSWORD',
  'M_PASSWORD_TOO_SHORT',
  'M_INVALID_PARAM',
  'M_UNKNOWN',
])

const refused = (answer: ChatAnswer) => ({ kind: 'refused', reason: errorOf(answer) || errcodeOf(answer) }) as const

/** Makes an account with a password, or finds that there is one and leaves it alone. */
export async function createChatUser(deps: CallDeps, tenantId: TenantId, user: NewChatUser): Promise<Created> {
  const caller = await enter(deps, tenantId, 'write')
  if (!isCaller(caller)) return caller
  const registration = await boxSecret(deps, deps.db, caller.door.boxId, 'registrationSharedSecret')
  if (!registration) return { kind: 'unreachable', retryAfterSeconds: 60, reason: 'its host has not delivered its registration secret' }
  const failed: { fault?: Created } = {}
  const ask = async (question: Parameters<Parameters<typeof registerAccount>[0]>[0]): Promise<ChatAnswer> => {
    const result = await caller.call({ ...question, as: 'nobody' })
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

/** Sets a password; devices and their tokens stay, or end with the old one. */
export async function changeChatPassword(deps: CallDeps, tenantId: TenantId, ask: NewPassword): Promise<Done> {
  const caller = await enter(deps, tenantId, 'write')
  if (!isCaller(caller)) return caller
  const { localpart, password, logOutDevices = false } = ask
  const path = `/_synapse/admin/v1/reset_password/${idOf(caller, localpart)}`
  const body = { new_password: password.reveal(), logout_devices: logOutDevices }
  return done(await caller.call({ method: 'POST', path, body, as: 'admin' }))
}

type Account = Readonly<Record<string, unknown>>
type Change = Readonly<{ localpart: string; holds: (account: Account) => boolean; body: Account }>

/** The admin API's PUT would make a user who is not there, so it is asked for first; what holds already is not said again. */
async function changeAccount(deps: CallDeps, tenantId: TenantId, { localpart, holds, body }: Change): Promise<Done> {
  const caller = await enter(deps, tenantId, 'write')
  if (!isCaller(caller)) return caller
  const path = `/_synapse/admin/v2/users/${idOf(caller, localpart)}`
  const found = await caller.call({ method: 'GET', path, as: 'admin' })
  if (!isAnswer(found) || found.status !== 200) return done(found)
  if (found.json && holds(found.json)) return { kind: 'ok' }
  return done(await caller.call({ method: 'PUT', path, body, as: 'admin' }))
}

type Locked = Readonly<{ localpart: string; locked: boolean }>

export const setChatLock = (deps: CallDeps, tenantId: TenantId, { localpart, locked }: Locked): Promise<Done> =>
  changeAccount(deps, tenantId, { localpart, holds: (account) => account.locked === locked, body: { locked } })

type Named = Readonly<{ localpart: string; displayName: string | null }>

/** As the user's own profile says it to others. */
export const setChatName = (deps: CallDeps, tenantId: TenantId, { localpart, displayName }: Named): Promise<Done> =>
  changeAccount(deps, tenantId, {
    localpart,
    holds: ({ displayname }) => displayname === displayName,
    body: { displayname: displayName ?? '' },
  })

const idOf = ({ door }: Caller, localpart: string): string => encodeURIComponent(matrixUserIdOf(localpart, door.chatDomain))

function done(result: Awaited<ReturnType<Caller['call']>>): Done {
  if (!isAnswer(result)) return result
  if (result.status === 200) return { kind: 'ok' }
  if (errcodeOf(result) === 'M_NOT_FOUND') return { kind: 'absent' }
  return result.status === 400 ? refused(result) : unexpected(result)
}
