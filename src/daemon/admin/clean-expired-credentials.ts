import { knownNetworkMs } from '../../core/admin/index.ts'
import { type Clock, isoIn, isoNow, plural } from '../../core/kit/index.ts'
import { deleteOldRevocations } from '../auth/index.ts'
import type { Db, Tx } from '../db/index.ts'
import { type Cron, defineCron } from '../feature/index.ts'

type Cleaned = Readonly<{ initialPasswords: number; apiTokens: number; sessions: number }>

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
  await tx.deleteFrom('admin_cli_logins').where('expires_at', '<=', now).execute()
  await tx.deleteFrom('login_failures').where('forget_at', '<=', now).execute()
  await tx.deleteFrom('login_networks').where('last_login_at', '<=', isoIn(clock, -knownNetworkMs)).execute()
  await deleteOldRevocations(tx, clock)
  return {
    initialPasswords: Number(passwords.numUpdatedRows),
    apiTokens: Number(tokens.numDeletedRows),
    sessions: Number(sessions.numDeletedRows),
  }
}

export type CleanupDeps = Readonly<{
  db: Db
  clock: Clock
  /** Belongs to the feature `hosts`. */
  deleteEndedInvites(deps: { db: Db; clock: Clock }): Promise<number>
}>

export const passwordCleanup = ({ db, clock, deleteEndedInvites }: CleanupDeps): Cron =>
  defineCron({
    key: 'admin-password-cleanup',
    expression: '0 4 * * *',
    description: 'Delete expired one-time initial passwords, API tokens, sessions and enrolment tokens',
    run: async () => {
      const { initialPasswords, apiTokens, sessions } = await db.transaction().execute((tx) => cleanExpiredCredentials(tx, clock))
      const invites = await deleteEndedInvites({ db, clock })
      const counts = [
        plural(initialPasswords, 'initial password'),
        plural(apiTokens, 'API token'),
        plural(sessions, 'session'),
        plural(invites, 'enrolment token'),
      ]
      return `deleted ${counts.join(', ')}`
    },
  })
