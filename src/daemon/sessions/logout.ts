import { isProblem } from '../../core/kit/index.ts'
import type { SessionsDeps } from './deps.ts'
import { endSessions } from './revocations.ts'
import { refreshHash } from './sessions.repo.ts'

type Deps = Pick<SessionsDeps, 'db' | 'clock' | 'keys' | 'revocations'>
/** `tellTenant` is told whose session it was. */
type Logout = Readonly<{
  refreshToken: string | undefined
  authorization: string | undefined
  tellTenant?: (tenantId: string) => void
}>
type Found = Readonly<{ id: string; tenantId: string }>

/**
 * Ends the session of a refresh token, used or not, and the one of the platform token that came along. Unknown ones are no failure: the caller
 * wants to be logged out, and is. The chat session goes on (spec 5.2).
 */
export async function logout(deps: Deps, { refreshToken, authorization, tellTenant }: Logout): Promise<void> {
  const { db, clock, revocations } = deps
  const sessions = [await sessionOfRefresh(deps, refreshToken), await sessionOfPlatform(deps, authorization)]
  const found = sessions.filter((session) => session !== undefined)
  if (!found[0]) return
  tellTenant?.(found[0].tenantId)
  const ids = [...new Set(found.map(({ id }) => id))]
  await db.transaction().execute((tx) => endSessions(tx, clock, ids, 'logout'))
  await revocations.readNow()
}

async function sessionOfRefresh({ db }: Deps, token: string | undefined): Promise<Found | undefined> {
  if (token === undefined) return undefined
  const row = await db
    .selectFrom('refresh_tokens')
    .innerJoin('sessions', 'sessions.id', 'session_id')
    .select(['sessions.id', 'sessions.tenant_id'])
    .where('hash', '=', refreshHash(token))
    .executeTakeFirst()
  return row && { id: row.id, tenantId: row.tenant_id }
}

async function sessionOfPlatform({ keys }: Deps, authorization: string | undefined): Promise<Found | undefined> {
  const token = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1]
  if (!token) return undefined
  try {
    const { fam, tid } = await keys.verify(token)
    return { id: fam, tenantId: tid }
  } catch (error) {
    if (isProblem(error, 'UNAUTHENTICATED')) return undefined
    throw error
  }
}
