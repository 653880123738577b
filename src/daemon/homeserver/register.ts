import { createHmac } from 'node:crypto'
import { type ChatAnswer, faultOf } from '../../core/homeserver/index.ts'
import type { Secret } from '../../core/kit/index.ts'
import type { Question } from './ask.ts'

const path = '/_synapse/admin/v1/register'

export type Registration = Readonly<{ localpart: string; password: Secret; admin: boolean; displayName?: string | null | undefined }>

/**
 * Makes an account by the server's registration secret. Unlike the admin API's PUT this never touches one that exists: it answers
 * M_USER_IN_USE, also when two ask at once.
 */
export async function registerAccount(
  ask: (question: Omit<Question, 'headers'>) => Promise<ChatAnswer>,
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
