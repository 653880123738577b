import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

/** Twelve hours: one working day. */
export const sessionMs = 12 * 60 * 60_000

type NewSession = Readonly<{ id: string; accountId: string; address: string }>

export async function addSession(tx: Tx, clock: Clock, { id, accountId, address }: NewSession): Promise<void> {
  const row = { id, account_id: accountId, address, created_at: isoNow(clock), expires_at: isoIn(clock, sessionMs), revoked_at: null }
  await tx.insertInto('admin_sessions').values(row).execute()
}

export type OpenSession = Readonly<{
  id: string
  accountId: string
  accountName: string
  address: string
  createdAt: string
  expiresAt: string
}>

const openSessions = (db: DbOrTx, clock: Clock) =>
  db
    .selectFrom('admin_sessions')
    .innerJoin('admin_accounts', 'admin_accounts.id', 'admin_sessions.account_id')
    .select(['admin_sessions.id', 'account_id as accountId', 'admin_accounts.name as accountName', 'address'])
    .select(['admin_sessions.created_at as createdAt', 'expires_at as expiresAt'])
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', isoNow(clock))

export const listOpenSessions = (db: DbOrTx, clock: Clock, accountId?: string): Promise<OpenSession[]> =>
  openSessions(db, clock)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId as string))
    .orderBy('admin_sessions.created_at', 'desc')
    .execute()

export const openSession = (db: DbOrTx, clock: Clock, id: string): Promise<OpenSession | undefined> =>
  openSessions(db, clock).where('admin_sessions.id', '=', id).executeTakeFirst()

/** Ends one session, here and within a second on every replica. False when it was over already. */
export async function endSession(tx: Tx, clock: Clock, id: string): Promise<boolean> {
  const ended = await tx
    .updateTable('admin_sessions')
    .set({ revoked_at: isoNow(clock) })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (ended.numUpdatedRows === 0n) return false
  await publishRevocation(tx, clock, { kind: 'admin-session', subject: id })
  return true
}

/** Ends all sessions of an account but one. */
export async function endSessions(tx: Tx, clock: Clock, accountId: string, except?: string): Promise<void> {
  await tx
    .updateTable('admin_sessions')
    .set({ revoked_at: isoNow(clock) })
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)
    .$if(except !== undefined, (query) => query.where('id', '!=', except as string))
    .execute()
  await publishRevocation(tx, clock, { kind: 'admin-account', subject: accountId })
}
