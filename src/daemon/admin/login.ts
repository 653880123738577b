import type { SetupStep } from '../../core/admin/index.ts'
import type { AdminRole } from '../../core/contract/index.ts'
import { type AdminActor, isoNow, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { WithTx } from '../db/index.ts'
import { accountByName, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { type Attempt, clearFailures, recordNetwork, refundAttempt } from './login-attempts.ts'
import { recordFailedAttempt, verifyPassword } from './passwords.ts'
import { addSession, remainingSetup, sessionMs } from './sessions.ts'
import { consumeCode } from './totp.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring' | 'keys' | 'totpRequired'>
export type Login = Readonly<{
  name: string
  password: string
  totp?: string | undefined
  address: string
  /** Called with the account, if it exists, before the password is checked. */
  setCaller?: (caller: Readonly<{ user: string | undefined }>) => void
}>
type ShownAccount = Readonly<{ id: string; name: string; role: AdminRole }>
type LoggedIn = Readonly<{ token: string; expiresAt: string; account: ShownAccount; setup: SetupStep[] }>

/**
 * Opens a session with a token. TOTP_REQUIRED is thrown only after the password was right. A session with remaining `setup` steps may call
 * nothing else. Throws LOGIN_FAILED, ACCOUNT_LOCKED.
 */
export async function login(deps: Deps, input: Login): Promise<LoggedIn> {
  const { account, sessionId } = await openSession(deps, input)
  const signed = await deps.keys.sign({ sub: account.id, sid: sessionId }, sessionMs)
  return { ...signed, ...shown(account, deps.totpRequired) }
}

export const shown = (account: StoredAccount, totpRequired: boolean) => ({
  account: { id: account.id, name: account.name, role: account.role },
  setup: remainingSetup(account, totpRequired),
})

/** `cookieHash`: of a session of the web console. Throws as `login`. */
export async function openSession(
  deps: Omit<Deps, 'keys'>,
  { name, password, totp, address, cookieHash, setCaller }: Login & Readonly<{ cookieHash?: string }>,
): Promise<Readonly<{ account: StoredAccount; sessionId: string }>> {
  const account = await accountByName(deps.db, name)
  setCaller?.({ user: account?.id })
  const attempt = await verifyPassword(deps, { name, password, address, account })
  if (!account) throw new Error('password verified without an account')
  if (account.totpConfirmed && !totp) {
    await refundAttempt(deps, attempt)
    throw problem('TOTP_REQUIRED', 'This account needs a TOTP code or a recovery code.')
  }
  const sessionId = await deps.db
    .transaction()
    .execute((tx) => openSessionFor({ ...deps, tx }, account, { attempt, totp, address, cookieHash }))
  if (!sessionId) throw await recordFailedAttempt(deps, { attempt, account, address })
  return { account, sessionId }
}

type SessionInput = Readonly<{ attempt: Attempt; totp: string | undefined; address: string; cookieHash: string | undefined }>

/** Consumes the code and opens the session in one transaction. Undefined, with nothing written, when the code is wrong. */
async function openSessionFor(
  deps: WithTx<Omit<Deps, 'keys'>>,
  account: StoredAccount,
  { attempt, totp, address, cookieHash }: SessionInput,
): Promise<string | undefined> {
  const { tx } = deps
  const { clock, random } = deps
  const secondFactor = account.totpConfirmed ? await consumeCode(deps, account, totp ?? '') : 'none'
  if (!secondFactor) return undefined
  // A password change or a disabled account since the check must not open a session.
  const current = await tx
    .updateTable('admin_accounts')
    .set({ last_login_at: isoNow(clock) })
    .where('id', '=', account.id)
    .where('status', '=', 'active')
    .where('password_hash', '=', account.passwordHash)
    .executeTakeFirst()
  if (current.numUpdatedRows === 0n) return undefined
  const sessionId = newId(random, 'ses')
  await addSession(tx, clock, { id: sessionId, accountId: account.id, address, cookieHash, provenAt: isoNow(clock) })
  await clearFailures(tx, attempt)
  await recordNetwork(tx, clock, attempt)
  const actor: AdminActor = { kind: 'admin', accountId: account.id, name: account.name, role: account.role, sessionId }
  await recordAudit(tx, clock, {
    actor,
    action: 'session.opened',
    subject: sessionId,
    data: { address, secondFactor, ...(cookieHash ? { console: true } : {}) },
  })
  return sessionId
}
