import { createHmac } from 'node:crypto'
import { type ChatAnswer, errcodeOf, type Fault, faultOf, unexpected } from '../../core/homeserver/index.ts'
import { type Clock, isoNow, type Random, Secret } from '../../core/kit/index.ts'
import { boxSecret } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { type Keyring, type SealedColumn, seal, unseal } from '../sealed/index.ts'
import type { Question } from './ask.ts'
import type { Door } from './door.ts'
import { registerAccount } from './register.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random; keyring: Keyring }>
type AskThere = (question: Omit<Question, 'headers'> & { headers?: Record<string, string> }) => Promise<ChatAnswer>

/** The platform's administrator in each box. The name is outside of the application service's, which cannot be administrators. */
export const adminLocalpart = 'tenantry.admin'

/** What this room keeps sealed, for `tenantryd rekey`. */
export const homeserverSealedColumns: readonly SealedColumn[] = [{ table: 'homeserver_tokens', column: 'sealed', key: 'box_id' }]

const place = (boxId: string) => ({ table: 'homeserver_tokens', row: boxId, column: 'sealed' })

export async function keptAdminToken({ db, keyring }: Deps, { boxId }: Door): Promise<Secret | undefined> {
  const row = await db.selectFrom('homeserver_tokens').select('sealed').where('box_id', '=', boxId).executeTakeFirst()
  return row && unseal(keyring, place(boxId), row.sealed)
}

/**
 * A new token of the administrator, kept sealed. Its password follows from the box's registration secret, so whatever a restore brought back,
 * logging in works, or the account is missing and is made again.
 */
export async function renewAdminToken(deps: Deps, ask: AskThere, door: Door): Promise<Secret | Fault> {
  const registration = await boxSecret(deps, deps.db, door.boxId, 'registrationSharedSecret')
  if (!registration) return { kind: 'unreachable', retryAfterSeconds: 60, reason: 'its host has not delivered its registration secret' }
  const password = new Secret(createHmac('sha256', registration.reveal()).update('tenantry.admin').digest('base64url'))
  let answer = await login(ask, door, password)
  if (errcodeOf(answer) === 'M_FORBIDDEN') {
    const made = await registerAccount(ask, registration, { localpart: adminLocalpart, password, admin: true })
    if (made.status !== 200) return faultOf(made) ?? unexpected(made)
    answer = await login(ask, door, password)
  }
  const { access_token } = answer.json ?? {}
  if (answer.status !== 200 || typeof access_token !== 'string') return faultOf(answer) ?? unexpected(answer)
  await keep(deps, door, access_token)
  return new Secret(access_token)
}

const login = (ask: AskThere, { chatDomain }: Door, password: Secret) => {
  const identifier = { type: 'm.id.user', user: `@${adminLocalpart}:${chatDomain}` }
  const device = { device_id: 'TENANTRYD', initial_device_display_name: 'Tenantry' }
  const body = { type: 'm.login.password', identifier, password: password.reveal(), ...device }
  return ask({ method: 'POST', path: '/_matrix/client/v3/login', body })
}

async function keep({ db, clock, random, keyring }: Deps, { boxId }: Door, token: string): Promise<void> {
  const row = { sealed: seal(keyring, random, place(boxId), token), updated_at: isoNow(clock) }
  await db
    .insertInto('homeserver_tokens')
    .values({ box_id: boxId, ...row })
    .onConflict((c) => c.column('box_id').doUpdateSet(row))
    .execute()
}
