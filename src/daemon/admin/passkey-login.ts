import { type PasskeyAssertion, type PasskeyRequest, passkeyRequest } from '../../core/admin/index.ts'
import { type AdminActor, isoNow, newId, type Problem, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { forUpdate, type WithTx } from '../db/index.ts'
import { accountById, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { type Login, shown } from './login.ts'
import { type Attempt, clearFailures, recordNetwork, reserveAttempt } from './login-attempts.ts'
import { assertRelyingParty, makeChallenge, takeChallenge } from './passkey-challenge.ts'
import { passkeyOfCredential, recordPasskeyUse, type StoredPasskey } from './passkeys.repo.ts'
import { handleOf } from './passkeys.ts'
import { recordFailedAttempt } from './passwords.ts'
import { addSession, sessionExpiry } from './sessions.ts'
import { tokenHash } from './tokens.ts'
import { verifyAssertion } from './verify-passkey.ts'

type Deps = Omit<AdminDeps, 'keys' | 'revocations'>

/** The options for the browser, and the cookie that ties its answer to it. Throws CONFIG. */
export function beginPasskeyLogin(deps: Deps): Readonly<{ request: PasskeyRequest; cookie: string }> {
  const party = assertRelyingParty(deps)
  const { challenge, cookie } = makeChallenge(deps, null)
  return { request: passkeyRequest(party, challenge), cookie }
}

type Answer = Pick<Login, 'address' | 'setCaller'> & Readonly<{ credential: PasskeyAssertion; challengeCookie: string | undefined }>

/**
 * Opens a session of the web console by a passkey, which its person has unlocked: no password and no code is asked for. Attempts count and
 * lock as those with a password. Throws LOGIN_FAILED, ACCOUNT_LOCKED, CONFIG.
 */
export async function openConsoleByPasskey(deps: Deps, { credential, challengeCookie, address, setCaller }: Answer) {
  const { db, clock, random } = deps
  const party = assertRelyingParty(deps)
  const challenge = await takeChallenge(deps, { cookie: challengeCookie, sessionId: null })
  const passkey = await passkeyOfCredential(db, credential.id)
  if (!passkey) throw notAccepted()
  const account = await accountById(db, passkey.accountId)
  setCaller?.({ user: account.id })
  const attempt = await reserveAttempt(deps, account.name, address)
  const verified = await verifyAssertion({ party, challenge }, credential, { ...passkey, handle: handleOf(account.id) })
  const cookie = Buffer.from(random.bytes(32)).toString('base64url')
  const use = { passkey, account, attempt, address, cookieHash: tokenHash(cookie) }
  const refusal =
    'refusal' in verified
      ? verified.refusal
      : await db.transaction().execute((tx) => openSession({ ...deps, tx }, { ...use, signCount: verified.signCount }))
  if (refusal !== undefined) throw await recordRefusal(deps, { ...use, refusal })
  return { cookie, opened: { expiresAt: sessionExpiry(clock), ...shown(account, deps.totpRequired) } }
}

type Use = Readonly<{ passkey: StoredPasskey; account: StoredAccount; attempt: Attempt; address: string; cookieHash: string }>

/** The reason of a refusal, with no session opened. */
async function openSession(
  { tx, clock, random }: WithTx<Deps>,
  { passkey, account, attempt, address, cookieHash, signCount }: Use & Readonly<{ signCount: number }>,
): Promise<string | undefined> {
  const at = isoNow(clock)
  // A disabled account, or one that was reset since the check, must not get a session.
  const current = await tx
    .selectFrom('admin_accounts')
    .select('id')
    .where('id', '=', account.id)
    .where('status', '=', 'active')
    .where('provider_subject', 'is', null)
    .modifyEnd(forUpdate(tx))
    .executeTakeFirst()
  if (!current) return 'the account is disabled, or logs in at the provider'
  if (!(await recordPasskeyUse(tx, { id: passkey.id, signCount, at }))) return 'the passkey was removed or used meanwhile'
  await tx.updateTable('admin_accounts').set({ last_login_at: at }).where('id', '=', account.id).execute()
  const sessionId = newId(random, 'ses')
  await addSession(tx, clock, { id: sessionId, accountId: account.id, address, cookieHash, provenAt: at })
  await clearFailures(tx, attempt)
  await recordNetwork(tx, clock, attempt)
  const actor: AdminActor = { kind: 'admin', accountId: account.id, name: account.name, role: account.role, sessionId }
  const data = { address, secondFactor: 'passkey', console: true, passkey: passkey.name }
  await recordAudit(tx, clock, { actor, action: 'session.opened', subject: sessionId, data })
  return undefined
}

/** The reason is in the audit log alone. Returns the error to throw. */
async function recordRefusal(
  deps: Deps,
  { passkey, account, attempt, address, refusal }: Omit<Use, 'cookieHash'> & Readonly<{ refusal: string }>,
): Promise<Problem> {
  const { db, clock } = deps
  await db.transaction().execute(async (tx) => {
    const data = { address, passkey: passkey.name, reason: refusal }
    await recordAudit(tx, clock, {
      actor: { kind: 'system', name: 'login' },
      action: 'account.passkey-refused',
      subject: account.name,
      data,
    })
  })
  await recordFailedAttempt(deps, { attempt, account, address })
  return notAccepted()
}

const notAccepted = (): Problem =>
  problem('LOGIN_FAILED', 'The passkey was not accepted: it may have been removed. fix: log in with name and password')
