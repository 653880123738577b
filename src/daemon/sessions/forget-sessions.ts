import { isoIn, isoNow, plural } from '../../core/kit/index.ts'
import { knownNetworkMs } from '../../core/sessions/index.ts'
import type { SessionsDeps } from './deps.ts'

/** Sessions per transaction: others want to write too. */
const atOnce = 500

/**
 * Deletes sessions past their end with their refresh tokens, used ones too: until then a used one is known again and ends its family. Known
 * networks go when they no longer count.
 */
export async function forgetSessions({ db, clock }: Pick<SessionsDeps, 'db' | 'clock'>, signal?: AbortSignal): Promise<string> {
  const now = isoNow(clock)
  let gone = 0
  for (let last = atOnce; last === atOnce && !signal?.aborted; gone += last) last = await forgetSome({ db }, now)
  await db.deleteFrom('user_login_networks').where('last_login_at', '<=', isoIn(clock, -knownNetworkMs)).execute()
  return plural(gone, 'ended session')
}

/** Deletes counters of failed logins that no longer count. Names that strangers make up have one each, so this cannot wait for the night. */
export async function forgetLoginFailures({ db, clock }: Pick<SessionsDeps, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('user_login_failures').where('until', '<=', isoNow(clock)).execute()
}

const forgetSome = ({ db }: Pick<SessionsDeps, 'db'>, now: string): Promise<number> =>
  db.transaction().execute(async (tx) => {
    const rows = await tx.selectFrom('sessions').select('id').where('expires_at', '<=', now).orderBy('expires_at').limit(atOnce).execute()
    if (rows.length === 0) return 0
    const ids = rows.map(({ id }) => id)
    await tx.deleteFrom('refresh_tokens').where('session_id', 'in', ids).execute()
    await tx.deleteFrom('sessions').where('id', 'in', ids).execute()
    return ids.length
  })
