import { maxPasskeys, type Passkey, type PasskeyAttestation, type PasskeyCreation, passkeyCreation } from '../../core/admin/index.ts'
import { type AdminActor, isoNow, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { forUpdate, isUniqueViolation, type Tx } from '../db/index.ts'
import { accountById, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { assertRelyingParty, makeChallenge, takeChallenge } from './passkey-challenge.ts'
import { deletePasskey, insertPasskey, passkeyById, passkeysOf, type StoredPasskey } from './passkeys.repo.ts'
import { verifyAttestation } from './verify-passkey.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring' | 'baseUrl'>

/** The id of an account as authenticators keep it. */
export const handleOf = (accountId: string): string => Buffer.from(accountId).toString('base64url')

/** The passkeys of the caller, or of another account for the role admin. Throws FORBIDDEN, NOT_FOUND. */
export async function listPasskeys({ db }: Pick<Deps, 'db'>, actor: AdminActor, { account }: { account?: string | undefined }) {
  const accountId = account ?? actor.accountId
  if (accountId !== actor.accountId && actor.role !== 'admin')
    throw problem('FORBIDDEN', `Listing passkeys of others needs the role admin; ${actor.name} has the role ${actor.role}.`)
  const { id } = await accountById(db, accountId)
  return (await passkeysOf(db, id)).map(publicForm)
}

const publicForm = ({ id, name, createdAt, lastUsedAt }: StoredPasskey): Passkey => ({ id, name, createdAt, lastUsedAt })

/** The options for the browser, and the cookie that ties its answer to the session. Throws CONFLICT, CONFIG. */
export async function beginPasskey(deps: Deps, actor: AdminActor): Promise<Readonly<{ creation: PasskeyCreation; cookie: string }>> {
  const party = assertRelyingParty(deps)
  const account = await accountById(deps.db, actor.accountId)
  const existing = await passkeysOf(deps.db, account.id)
  assertMayAdd(account, existing)
  const { challenge, cookie } = makeChallenge(deps, actor.sessionId)
  const names = { handle: handleOf(account.id), name: account.name }
  const creation = passkeyCreation({ party, challenge, account: names, existing: existing.map(({ credentialId }) => credentialId) })
  return { creation, cookie }
}

function assertMayAdd({ name, byProvider }: StoredAccount, existing: readonly StoredPasskey[]): void {
  if (byProvider) throw problem('CONFLICT', `Account ${name} logs in at the provider. Passkeys are for accounts with a password.`)
  if (existing.length >= maxPasskeys)
    throw problem('CONFLICT', `Account ${name} has ${maxPasskeys} passkeys already. fix: remove one first`)
}

type Added = Readonly<{ name: string; credential: PasskeyAttestation; cookie: string | undefined }>

/** Adds the passkey that the browser made. Throws LOGIN_FAILED, CONFLICT, ALREADY_EXISTS, CONFIG. */
export async function addPasskey(deps: Deps, actor: AdminActor, { name, credential, cookie }: Added): Promise<Passkey> {
  const { db, clock, random } = deps
  const party = assertRelyingParty(deps)
  const challenge = await takeChallenge(deps, { cookie, sessionId: actor.sessionId })
  const verified = await verifyAttestation({ party, challenge }, credential)
  if ('refusal' in verified)
    throw problem('LOGIN_FAILED', `The passkey does not hold: ${verified.refusal}. Nothing was changed. fix: begin it again`)
  const id = newId(random, 'pky')
  const passkey = { id, accountId: actor.accountId, name, ...verified, createdAt: isoNow(clock), lastUsedAt: null }
  await db.transaction().execute(async (tx) => {
    const account = await lockedAccount(tx, actor)
    const existing = await passkeysOf(tx, account.id)
    assertMayAdd(account, existing)
    if (existing.some((one) => one.name === name)) throw problem('ALREADY_EXISTS', `A passkey ${name} exists already. Choose another name.`)
    await insertPasskey(tx, passkey).catch((error: unknown) => {
      throw isUniqueViolation(error) ? problem('CONFLICT', 'This passkey was added already.') : error
    })
    await recordAudit(tx, clock, { actor, action: 'account.passkey-added', subject: account.name, data: { id, name } })
  })
  return publicForm(passkey)
}

/** A reset of the account locks its row and ends its sessions: no passkey is added after it. Throws UNAUTHENTICATED. */
async function lockedAccount(tx: Tx, { accountId, sessionId }: AdminActor): Promise<StoredAccount> {
  await tx.selectFrom('admin_accounts').select('id').where('id', '=', accountId).modifyEnd(forUpdate(tx)).execute()
  const session = await tx.selectFrom('admin_sessions').select('revoked_at').where('id', '=', sessionId).executeTakeFirst()
  if (!session || session.revoked_at !== null) throw problem('UNAUTHENTICATED', 'The session was ended meanwhile. fix: log in again')
  return accountById(tx, accountId)
}

/** Returns NOT_FOUND for passkeys of others unless the caller is admin. Open sessions stay. */
export async function removePasskey({ db, clock }: Pick<Deps, 'db' | 'clock'>, actor: AdminActor, { id }: { id: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const passkey = await passkeyById(tx, id)
    const isAllowed = passkey && (passkey.accountId === actor.accountId || actor.role === 'admin')
    if (!isAllowed || !(await deletePasskey(tx, id))) throw problem('NOT_FOUND', `Passkey ${id} does not exist.`)
    const { name: subject } = await accountById(tx, passkey.accountId)
    await recordAudit(tx, clock, { actor, action: 'account.passkey-removed', subject, data: { id, name: passkey.name } })
  })
}
