import type { z } from 'zod'
import { type Account, AccountName, type NewPassword } from '../../core/admin/index.ts'
import { type AdminRole, parsePart } from '../../core/contract/index.ts'
import {
  type Actor,
  type AdminActor,
  type Clock,
  isoIn,
  isoNow,
  newId,
  problem,
  type Random,
  type SystemActor,
} from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { type Db, isUniqueViolation } from '../db/index.ts'
import { accountById, accountByName, assertNotLastAdmin, publicAccount } from './accounts.repo.ts'

import type { AdminDeps } from './deps.ts'
import { nameHash } from './login-attempts.ts'
import { deletePasskeysOf } from './passkeys.repo.ts'
import { hashPassword, makeInitialPassword } from './passwords.ts'
import { endSessions } from './sessions.ts'

type CreateAccountDeps = Readonly<{ db: Db; clock: Clock; random: Random }>

const initialPasswordMs = 72 * 60 * 60_000

type Creator = AdminActor | SystemActor
type NewAccount = Readonly<{ name: string; role: AdminRole }>
type Created = Readonly<{ account: Account; initialPassword: string; expiresAt: string }>

/** Creates an account with an initial password, which must be changed at the first login within three days. Throws ALREADY_EXISTS. */
export async function createAccount(deps: CreateAccountDeps, actor: Creator, input: NewAccount): Promise<Created> {
  const initialPassword = makeInitialPassword(deps.random)
  const expiresAt = isoIn(deps.clock, initialPasswordMs)
  const account = await insertAccount(deps, actor, { ...input, password: initialPassword, expiresAt })
  return { account, initialPassword, expiresAt }
}

/** Creates an account with a password typed on the daemon's machine. Throws ALREADY_EXISTS. */
export const createAccountWithPassword = (
  deps: CreateAccountDeps,
  actor: Creator,
  input: NewAccount & Readonly<{ password: z.output<typeof NewPassword> }>,
): Promise<Account> => insertAccount(deps, actor, { ...input, expiresAt: null })

type Insert = NewAccount & Readonly<{ password: string; expiresAt: string | null }>

async function insertAccount(
  { db, clock, random }: CreateAccountDeps,
  actor: Creator,
  { name, role, password, expiresAt }: Insert,
): Promise<Account> {
  const plainName = parsePart(AccountName, name, 'name')
  const row = { id: newId(random, 'acc'), name: plainName, role, password_hash: await hashPassword(password), created_by: actor.name }
  const unset = {
    totp_secret: null,
    totp_confirmed_at: null,
    totp_step: null,
    last_login_at: null,
    provider_issuer: null,
    provider_subject: null,
  }
  try {
    await db.transaction().execute(async (tx) => {
      await tx
        .insertInto('admin_accounts')
        .values({ ...row, ...unset, status: 'active', initial_password_expires_at: expiresAt, created_at: isoNow(clock) })
        .execute()
      await recordAudit(tx, clock, { actor, action: 'account.created', subject: plainName, data: { role } })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw problem('ALREADY_EXISTS', `Account ${plainName} exists already. Choose another name.`)
  }
  return publicAccount(db, row.id, isoNow(clock))
}

type ResetPasswordDeps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'revocations'>

/** Sets a new initial password, removes the passkeys and ends the account's sessions. TOTP stays enabled. */
export async function resetPassword(
  { db, clock, random, revocations }: ResetPasswordDeps,
  actor: Actor,
  { id }: { id: string },
): Promise<{ account: Account; initialPassword: string; expiresAt: string }> {
  const initialPassword = makeInitialPassword(random)
  const passwordHash = await hashPassword(initialPassword)
  const expiresAt = isoIn(clock, initialPasswordMs)
  await db.transaction().execute(async (tx) => {
    const { name, byProvider } = await accountById(tx, id)
    if (byProvider) throw problem('CONFLICT', `Account ${name} logs in at the provider and has no password here.`)
    const password = { password_hash: passwordHash, initial_password_expires_at: expiresAt }
    await tx.updateTable('admin_accounts').set(password).where('id', '=', id).execute()
    const passkeys = await deletePasskeysOf(tx, id)
    await endSessions({ tx, clock }, id)
    await recordAudit(tx, clock, { actor, action: 'account.password-reset', subject: name, data: { passkeys } })
  })
  await revocations.readNow()
  return { account: await publicAccount(db, id, isoNow(clock)), initialPassword, expiresAt }
}

type AccountDeps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Changes the role; open sessions have it within a second. API tokens never exceed the role of their creator. */
export async function changeAccountRole(
  { db, clock, revocations }: AccountDeps,
  actor: Actor,
  { id, role }: { id: string; role: AdminRole },
): Promise<Account> {
  await db.transaction().execute(async (tx) => {
    if (role !== 'admin') await assertNotLastAdmin(tx, id)
    const account = await accountById(tx, id)
    if (!account.active) throw problem('CONFLICT', `Account ${account.name} is disabled.`)
    if (account.byProvider)
      throw problem('CONFLICT', `The groups of ${account.name} at the provider give its role. fix: change them there, or admin.oidc.roles`)
    await tx.updateTable('admin_accounts').set({ role }).where('id', '=', id).execute()
    await publishRevocation(tx, clock, { kind: 'admin-account', subject: id })
    await recordAudit(tx, clock, { actor, action: 'account.role-changed', subject: account.name, data: { from: account.role, to: role } })
  })
  await revocations.readNow()
  return publicAccount(db, id, isoNow(clock))
}

type DisableAccountDeps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Disables an account for good. Its sessions and API tokens end on every replica within a second. */
export async function disableAccount(
  { db, clock, revocations }: DisableAccountDeps,
  actor: Actor,
  { id }: { id: string },
): Promise<Account> {
  await db.transaction().execute(async (tx) => {
    await assertNotLastAdmin(tx, id)
    const { name } = await accountById(tx, id)
    const disabled = await tx
      .updateTable('admin_accounts')
      .set({ status: 'disabled' })
      .where('id', '=', id)
      .where('status', '=', 'active')
      .executeTakeFirst()
    if (disabled.numUpdatedRows === 0n) throw problem('CONFLICT', `Account ${name} is already disabled.`)
    await tx.deleteFrom('api_tokens').where('account_id', '=', id).execute()
    await endSessions({ tx, clock }, id)
    await recordAudit(tx, clock, { actor, action: 'account.disabled', subject: name })
  })
  await revocations.readNow()
  return publicAccount(db, id, isoNow(clock))
}

/** Deletes the failed logins of an account, from every network. */
export async function unlockAccount({ db, clock }: { db: Db; clock: Clock }, actor: Actor, { name }: { name: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const account = await accountByName(tx, name)
    if (!account) throw problem('NOT_FOUND', `Account ${name} does not exist.`)
    await tx.deleteFrom('login_failures').where('name_hash', '=', nameHash(account.name)).execute()
    await recordAudit(tx, clock, { actor, action: 'account.unlocked', subject: account.name })
  })
}
