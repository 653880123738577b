import { knownNetworkMs } from '../../core/admin/index.ts'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'

type Cleaned = Readonly<{ initialPasswords: number; apiTokens: number; sessions: number }>

/** A replica that was disconnected for longer drops its whole cache. */
const revocationRetentionMs = 24 * 60 * 60_000

/** Deletes expired initial passwords (the account stays), API tokens, sessions, login counters and revocations. */
export async function cleanExpiredCredentials(tx: Tx, clock: Clock): Promise<Cleaned> {
  const now = isoNow(clock)
  const passwords = await tx
    .updateTable('admin_accounts')
    .set({ password_hash: null })
    .where('initial_password_expires_at', '<=', now)
    .where('password_hash', 'is not', null)
    .executeTakeFirst()
  const tokens = await tx.deleteFrom('api_tokens').where('expires_at', '<=', now).executeTakeFirst()
  const sessions = await tx.deleteFrom('admin_sessions').where('expires_at', '<=', now).executeTakeFirst()
  await tx.deleteFrom('login_failures').where('forget_at', '<=', now).execute()
  await tx.deleteFrom('login_networks').where('last_login_at', '<=', isoIn(clock, -knownNetworkMs)).execute()
  await tx.deleteFrom('revocations').where('created_at', '<=', isoIn(clock, -revocationRetentionMs)).execute()
  return {
    initialPasswords: Number(passwords.numUpdatedRows),
    apiTokens: Number(tokens.numDeletedRows),
    sessions: Number(sessions.numDeletedRows),
  }
}
