import { isProblem } from '../../core/kit/index.ts'
import type { SessionsNeeds } from './needs.ts'
import { endSessions } from './revocations.ts'
import { refreshHash } from './sessions.repo.ts'

type Needs = Pick<SessionsNeeds, 'db' | 'clock' | 'keys' | 'revocations'>
type Logout = Readonly<{ refreshToken: string | undefined; authorization: string | undefined }>

/**
 * Ends the session of a refresh token, used or not, and the one of the platform token that came along. Unknown ones are no failure: the caller
 * wants to be logged out, and is. The chat session goes on (spec 5.2).
 */
export async function logout(needs: Needs, { refreshToken, authorization }: Logout): Promise<void> {
  const { db, clock, revocations } = needs
  const found = [await sessionOfRefresh(needs, refreshToken), await sessionOfPlatform(needs, authorization)]
  const ids = [...new Set(found)].filter((id) => id !== undefined)
  if (ids.length === 0) return
  await db.transaction().execute((tx) => endSessions(tx, clock, ids, 'logout'))
  await revocations.readNow()
}

async function sessionOfRefresh({ db }: Needs, token: string | undefined): Promise<string | undefined> {
  if (token === undefined) return undefined
  const row = await db.selectFrom('refresh_tokens').select('session_id').where('hash', '=', refreshHash(token)).executeTakeFirst()
  return row?.session_id
}

async function sessionOfPlatform({ keys }: Needs, authorization: string | undefined): Promise<string | undefined> {
  const token = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '')?.[1]
  if (!token) return undefined
  try {
    return (await keys.verify(token)).fam
  } catch (error) {
    if (isProblem(error, 'UNAUTHENTICATED')) return undefined
    throw error
  }
}
