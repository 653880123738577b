import { type SetupStep, setupSteps } from '../../core/admin/index.ts'
import type { AdminRole } from '../../core/contract/index.ts'
import { type AdminActor, isoNow, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { accountByName, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { type Attempt, rememberNetwork, settleAttempt, uncountAttempt } from './login-attempts.ts'
import { failed, provePassword } from './prove-password.ts'
import { addSession, sessionMs } from './sessions.repo.ts'
import { spendCode } from './totp.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring' | 'keys' | 'totpRequired'>
type Login = Readonly<{ name: string; password: string; totp?: string | undefined; address: string }>
type LoggedIn = Readonly<{
  token: string
  expiresAt: string
  account: { id: string; name: string; role: AdminRole }
  setup: SetupStep[]
}>

/**
 * Opens a session for a person. An account with one-time codes needs one (TOTP_REQUIRED says so, once the password was right).
 * A session with `setup` steps left may do nothing but those.
 */
export async function login(deps: Deps, { name, password, totp, address }: Login): Promise<LoggedIn> {
  const account = await accountByName(deps.db, name)
  const attempt = await provePassword(deps, { name, password, address, account })
  if (!account) throw new Error('a password was proved for no account')
  if (account.totpConfirmed && !totp) {
    await uncountAttempt(deps, attempt)
    throw problem('TOTP_REQUIRED', 'this account needs the code of its app, or a recovery code')
  }
  const sessionId = await deps.db.transaction().execute((tx) => openedSession(tx, deps, account, { attempt, totp, address }))
  if (!sessionId) throw await failed(deps, attempt, account, address)
  const signed = await deps.keys.sign({ sub: account.id, sid: sessionId }, sessionMs)
  const { id, role } = account
  return { ...signed, account: { id, name: account.name, role }, setup: stepsOf(account, deps.totpRequired) }
}

export const stepsOf = ({ role, initialPasswordExpiresAt, totpConfirmed }: StoredAccount, totpRequired: boolean): SetupStep[] =>
  setupSteps({ role, hasInitialPassword: initialPasswordExpiresAt !== null, hasTotp: totpConfirmed }, totpRequired)

type Opening = Readonly<{ attempt: Attempt; totp: string | undefined; address: string }>

/** Code spent, session, counters and audit entry together; undefined when the code was wrong, with nothing written. */
async function openedSession(tx: Tx, deps: Deps, account: StoredAccount, { attempt, totp, address }: Opening): Promise<string | undefined> {
  const { clock, random } = deps
  const secondFactor = account.totpConfirmed ? await spendCode(tx, deps, account, totp ?? '') : 'none'
  if (!secondFactor) return undefined
  // Guarded by what was checked: a password changed or an account disabled meanwhile opens nothing.
  const current = await tx
    .updateTable('admin_accounts')
    .set({ last_login_at: isoNow(clock) })
    .where('id', '=', account.id)
    .where('status', '=', 'active')
    .where('password_hash', '=', account.passwordHash)
    .executeTakeFirst()
  if (current.numUpdatedRows === 0n) return undefined
  const sessionId = newId(random, 'ses')
  await addSession(tx, clock, { id: sessionId, accountId: account.id, address })
  await settleAttempt(tx, attempt)
  await rememberNetwork(tx, clock, attempt)
  const actor: AdminActor = { kind: 'admin', accountId: account.id, name: account.name, role: account.role, sessionId }
  await recordAudit(tx, clock, { actor, action: 'session.opened', subject: sessionId, data: { address, secondFactor } })
  return sessionId
}
