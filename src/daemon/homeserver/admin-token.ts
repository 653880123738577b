import { createHmac } from 'node:crypto'
import { type ChatAnswer, errcodeOf, type Fault, faultOf, unexpected } from '../../core/homeserver/index.ts'
import { Secret } from '../../core/kit/index.ts'
import { boxSecret } from '../boxes/index.ts'
import type { ChatRequest } from './chat-client.ts'
import type { ChatTarget } from './chat-target.ts'
import type { TokenDeps } from './stored-tokens.ts'

/** Addresses of platform listeners on hosts that are not reached on loopback. */
type PlatformAddressTable = { host_id: string; address: string; updated_at: string; updated_by: string }

declare module '../db/database.ts' {
  interface Tables {
    platform_addresses: PlatformAddressTable
  }
}

const path = '/_synapse/admin/v1/register'

export type Registration = Readonly<{ localpart: string; password: Secret; admin: boolean; displayName?: string | null | undefined }>

/**
 * Creates an account with the server's registration secret. Unlike the admin API's PUT it never changes an existing account: it answers
 * M_USER_IN_USE, also to concurrent calls.
 */
export async function registerAccount(
  ask: (request: Omit<ChatRequest, 'headers'>) => Promise<ChatAnswer>,
  registration: Secret,
  { localpart, password, admin, displayName }: Registration,
): Promise<ChatAnswer> {
  const first = await ask({ method: 'GET', path })
  const { nonce } = first.json ?? {}
  if (faultOf(first) || typeof nonce !== 'string') return first
  const parts = [nonce, localpart, password.reveal(), admin ? 'admin' : 'notadmin']
  const mac = createHmac('sha1', registration.reveal()).update(parts.join('\0')).digest('hex')
  const shown = displayName ? { displayname: displayName } : {}
  const body = { nonce, username: localpart, password: password.reveal(), mac, admin, inhibit_login: true, ...shown }
  return ask({ method: 'POST', path, body })
}

type SendToTarget = (request: Omit<ChatRequest, 'headers'> & { headers?: Record<string, string> }) => Promise<ChatAnswer>

/** The platform's administrator in each box. The name is outside the application service's namespace, whose users cannot be administrators. */
export const adminLocalpart = 'tenantry.admin'

/**
 * Gets a new administrator token. The password is derived from the box's registration secret, so that after any restore the
 * login works, or the account is missing and is created again.
 */
export async function loginAdmin(deps: TokenDeps, ask: SendToTarget, target: ChatTarget): Promise<Secret | Fault> {
  const registration = await boxSecret(deps, target.boxId, 'registrationSharedSecret')
  if (!registration) return { kind: 'unreachable', retryAfterSeconds: 60, reason: 'its host has not delivered its registration secret' }
  const password = new Secret(createHmac('sha256', registration.reveal()).update('tenantry.admin').digest('base64url'))
  let answer = await login(ask, target, password)
  if (errcodeOf(answer) === 'M_FORBIDDEN') {
    const made = await registerAccount(ask, registration, { localpart: adminLocalpart, password, admin: true })
    if (made.status !== 200) return faultOf(made) ?? unexpected(made)
    answer = await login(ask, target, password)
  }
  const { access_token } = answer.json ?? {}
  if (answer.status !== 200 || typeof access_token !== 'string') return faultOf(answer) ?? unexpected(answer)
  return new Secret(access_token)
}

const login = (ask: SendToTarget, { chatDomain }: ChatTarget, password: Secret) => {
  const identifier = { type: 'm.id.user', user: `@${adminLocalpart}:${chatDomain}` }
  const device = { device_id: 'TENANTRYD', initial_device_display_name: 'Tenantry' }
  const body = { type: 'm.login.password', identifier, password: password.reveal(), ...device }
  return ask({ method: 'POST', path: '/_matrix/client/v3/login', body })
}
