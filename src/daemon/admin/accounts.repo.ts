import type { Account } from '../../core/admin/index.ts'
import type { AdminRole } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { SealedColumn } from '../sealed/index.ts'
import type { AdminAccountTable } from './admin.tables.ts'
import { nameHash } from './login-attempts.ts'

/** An account with its secrets, for this feature only; `Account` is its public form. */
export type StoredAccount = Readonly<{
  id: string
  name: string
  role: AdminRole
  active: boolean
  passwordHash: string | null
  initialPasswordExpiresAt: string | null
  sealedTotp: string | null
  totpConfirmed: boolean
  totpStep: number | null
  lastLoginAt: string | null
  /** It logs in at the provider and has no password. */
  byProvider: boolean
  createdAt: string
  createdBy: string
}>

/** A person at the provider: names and mail addresses may change, these do not. */
export type ProviderIdentity = Readonly<{ issuer: string; subject: string }>

export async function accountByName(db: DbOrTx, name: string): Promise<StoredAccount | undefined> {
  const row = await db.selectFrom('admin_accounts').selectAll().where('name', '=', name.trim().toLowerCase()).executeTakeFirst()
  return row && toStoredAccount(row)
}

/** The account of a person at the provider. */
export async function accountOfSubject(db: DbOrTx, { issuer, subject }: ProviderIdentity): Promise<StoredAccount | undefined> {
  const row = await db
    .selectFrom('admin_accounts')
    .selectAll()
    .where('provider_issuer', '=', issuer)
    .where('provider_subject', '=', subject)
    .executeTakeFirst()
  return row && toStoredAccount(row)
}

export async function accountById(db: DbOrTx, id: string): Promise<StoredAccount> {
  const row = await db.selectFrom('admin_accounts').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `Account ${id} does not exist.`)
  return toStoredAccount(row)
}

/** The public form of an account, with the lock after failed logins from unknown networks. Throws NOT_FOUND. */
export async function publicAccount(db: DbOrTx, id: string, now: string): Promise<Account> {
  const [account] = await publicAccounts(db, now, id)
  if (!account) throw problem('NOT_FOUND', `Account ${id} does not exist.`)
  return account
}

export async function publicAccounts(db: DbOrTx, now: string, id?: string): Promise<Account[]> {
  const rows = await db
    .selectFrom('admin_accounts')
    .selectAll()
    .$if(id !== undefined, (query) => query.where('id', '=', id as string))
    .orderBy('name')
    .execute()
  const locks = await db.selectFrom('login_failures').select(['name_hash', 'locked_until']).where('locked_until', '>', now).execute()
  const lockOf = (name: string) => locks.find(({ name_hash }) => name_hash === nameHash(name))?.locked_until ?? null
  return rows.map((row) => toAccount(toStoredAccount(row), lockOf(row.name)))
}

/** Locks the rows of all active admins, so that two admins cannot disable each other at once. Throws CONFLICT. */
export async function assertNotLastAdmin(tx: Tx, id: string): Promise<void> {
  const admins = await tx
    .selectFrom('admin_accounts')
    .select('id')
    .where('role', '=', 'admin')
    .where('status', '=', 'active')
    .orderBy('id')
    .modifyEnd(forUpdate(tx))
    .execute()
  if (admins.length === 1 && admins[0]?.id === id)
    throw problem('CONFLICT', 'This is the last active account with the role admin. fix: create another admin first')
}

const toStoredAccount = (row: AdminAccountTable): StoredAccount => ({
  id: row.id,
  name: row.name,
  role: row.role,
  active: row.status === 'active',
  passwordHash: row.password_hash,
  initialPasswordExpiresAt: row.initial_password_expires_at,
  sealedTotp: row.totp_secret,
  totpConfirmed: row.totp_confirmed_at !== null,
  totpStep: row.totp_step === null ? null : Number(row.totp_step),
  lastLoginAt: row.last_login_at,
  byProvider: row.provider_subject !== null,
  createdAt: row.created_at,
  createdBy: row.created_by,
})

const toAccount = (account: StoredAccount, lockedUntil: string | null): Account => ({
  id: account.id,
  name: account.name,
  role: account.role,
  status: account.active ? 'active' : 'disabled',
  login: account.byProvider ? 'provider' : 'password',
  totp: account.totpConfirmed,
  mustChangePassword: account.initialPasswordExpiresAt !== null,
  initialPasswordExpiresAt: account.initialPasswordExpiresAt,
  lockedUntil,
  lastLoginAt: account.lastLoginAt,
  createdAt: account.createdAt,
  createdBy: account.createdBy,
})

/** Columns that `tenantryd rekey` seals again. */
export const adminSealedColumns: readonly SealedColumn[] = [{ table: 'admin_accounts', column: 'totp_secret', key: 'id' }]
