import type { Passkey } from '../../core/admin/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { PasskeyTable } from './admin.tables.ts'

/** A passkey with its key, for this feature only; `Passkey` is its public form. */
export type StoredPasskey = Passkey & Readonly<{ accountId: string; credentialId: string; publicKey: string; signCount: number }>

export async function passkeysOf(db: DbOrTx, accountId: string): Promise<StoredPasskey[]> {
  const rows = await db
    .selectFrom('admin_passkeys')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toPasskey)
}

export async function passkeyById(db: DbOrTx, id: string): Promise<StoredPasskey | undefined> {
  const row = await db.selectFrom('admin_passkeys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toPasskey(row)
}

export async function passkeyOfCredential(db: DbOrTx, credentialId: string): Promise<StoredPasskey | undefined> {
  const row = await db.selectFrom('admin_passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst()
  return row && toPasskey(row)
}

export async function insertPasskey(tx: Tx, { id, accountId, name, credentialId, publicKey, signCount, createdAt }: StoredPasskey) {
  const key = { credential_id: credentialId, public_key: publicKey, sign_count: signCount }
  await tx
    .insertInto('admin_passkeys')
    .values({ id, account_id: accountId, name, ...key, created_at: createdAt, last_used_at: null })
    .execute()
}

type Use = Readonly<{ id: string; signCount: number; at: string }>

/** False where the passkey was removed meanwhile, or another use has counted as far. */
export async function recordPasskeyUse(tx: Tx, { id, signCount, at }: Use): Promise<boolean> {
  const used = await tx
    .updateTable('admin_passkeys')
    .set({ sign_count: signCount, last_used_at: at })
    .where('id', '=', id)
    .where('sign_count', signCount === 0 ? '=' : '<', signCount)
    .executeTakeFirst()
  return used.numUpdatedRows > 0n
}

/** For a reset of the account: the device with its passkeys may be lost. Returns their number. */
export async function deletePasskeysOf(tx: Tx, accountId: string): Promise<number> {
  const deleted = await tx.deleteFrom('admin_passkeys').where('account_id', '=', accountId).executeTakeFirst()
  return Number(deleted.numDeletedRows)
}

/** False where it was removed meanwhile. */
export async function deletePasskey(tx: Tx, id: string): Promise<boolean> {
  const deleted = await tx.deleteFrom('admin_passkeys').where('id', '=', id).executeTakeFirst()
  return deleted.numDeletedRows > 0n
}

const toPasskey = (row: PasskeyTable): StoredPasskey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  credentialId: row.credential_id,
  publicKey: row.public_key,
  signCount: Number(row.sign_count),
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})
