import { hash, verify } from '@node-rs/argon2'
import { type AdminActor, type Clock, isoNow, isProblem, type Problem, problem, type Random, randomText } from '../../core/kit/index.ts'

import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { accountById, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { type Attempt, clearFailures, reserveAttempt } from './login-attempts.ts'

import { endSessions } from './sessions.ts'

/** Argon2id with 19 MiB and two passes. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = (password: string): Promise<string> => hash(password, cost)

let dummy: Promise<string> | undefined

/** Verifies in constant time: without a hash a dummy is compared, so that timing does not reveal which names exist. */
async function matchesHash(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  dummy ??= hashPassword('dummy')
  const fits = await verify(passwordHash ?? (await dummy), password)
  return fits && typeof passwordHash === 'string'
}

/** An initial password: 80 bits in readable groups. */
export const makeInitialPassword = (random: Random): string => grouped(randomText(random, 16))

export const grouped = (text: string): string => (text.match(/.{4}/g) ?? []).join('-')

type ProofDeps = Readonly<{ db: Db; clock: Clock }>
type Proof = Readonly<{ name: string; password: string; address: string; account: StoredAccount | undefined }>

/**
 * The only place where a password is verified. Every attempt is counted first; unknown, disabled and expired accounts take the path and the
 * time of a wrong password. Throws ACCOUNT_LOCKED or LOGIN_FAILED.
 */
export async function verifyPassword(deps: ProofDeps, { name, password, address, account }: Proof): Promise<Attempt> {
  const attempt = await reserveAttempt(deps, name, address)
  const now = isoNow(deps.clock)
  const usable = account?.active && (account.initialPasswordExpiresAt === null || account.initialPasswordExpiresAt > now)
  if (await matchesHash(usable ? account.passwordHash : undefined, password)) return attempt
  throw await recordFailedAttempt(deps, { attempt, account, address })
}

type OwnProof = Omit<Proof, 'name' | 'account'> & Readonly<{ account: StoredAccount }>

/** Verifies the password of a person who is logged in. Throws ACCOUNT_LOCKED or WRONG_PASSWORD. */
export async function verifyOwnPassword(deps: ProofDeps, { account, ...proof }: OwnProof): Promise<Attempt> {
  if (account.byProvider)
    throw problem('WRONG_PASSWORD', 'This account has no password here: it logs in at the provider. fix: log in there again')
  return verifyPassword(deps, { ...proof, name: account.name, account }).catch((error) => {
    throw isProblem(error, 'LOGIN_FAILED') ? problem('WRONG_PASSWORD', 'The current password is wrong; nothing was changed.') : error
  })
}

/** Audits the attempt that locks an account; the typed name is recorded only if such an account exists. Returns the error to throw. */
export async function recordFailedAttempt(
  { db, clock }: ProofDeps,
  { attempt, account, address }: Readonly<{ attempt: Attempt; account: StoredAccount | undefined; address: string }>,
): Promise<Problem> {
  if (attempt.lastOne) {
    const subject = account ? { subject: account.name } : {}
    await db.transaction().execute(async (tx) => {
      await recordAudit(tx, clock, { actor: { kind: 'system', name: 'login' }, action: 'account.locked', ...subject, data: { address } })
    })
  }
  return problem('LOGIN_FAILED', 'Name, password or code is wrong, or the initial password has expired.')
}

type ChangePasswordDeps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>
type Change = Readonly<{ currentPassword: string; newPassword: string; address: string }>

/** Changes the caller's password and ends the account's other sessions. Throws WRONG_PASSWORD, VALIDATION, CONFLICT. */
export async function changePassword(
  deps: ChangePasswordDeps,
  actor: AdminActor,
  { currentPassword, newPassword, address }: Change,
): Promise<void> {
  const { db, clock, revocations } = deps
  const account = await accountById(db, actor.accountId)
  const attempt = await verifyOwnPassword(deps, { password: currentPassword, address, account })
  if (newPassword === currentPassword) {
    const details = [{ path: 'newPassword', reason: 'must differ from the current password' }]
    throw problem('VALIDATION', 'newPassword must differ from the current password', { details })
  }
  const passwordHash = await hashPassword(newPassword)
  await db.transaction().execute(async (tx) => {
    const changed = await tx
      .updateTable('admin_accounts')
      .set({ password_hash: passwordHash, initial_password_expires_at: null })
      .where('id', '=', account.id)
      .where('password_hash', '=', account.passwordHash)
      .executeTakeFirst()
    if (changed.numUpdatedRows === 0n) throw problem('CONFLICT', 'Another session changed the password meanwhile. fix: log in again')
    await clearFailures(tx, attempt)
    await endSessions({ tx, clock }, account.id, actor.sessionId)
    await recordAudit(tx, clock, { actor, action: 'account.password-changed', subject: account.name })
  })
  await revocations.readNow()
}
