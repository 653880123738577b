import { z } from 'zod'
import { passkeyMs, type RelyingParty, relyingPartyOf } from '../../core/admin/index.ts'
import { isoIn, problem, sha256Hex } from '../../core/kit/index.ts'
import type { AdminDeps } from './deps.ts'
import { sealedCookie } from './sealed-cookie.ts'

/** `sessionId`: the session that adds a passkey; null for a login. */
const Challenge = z.strictObject({ challenge: z.string(), sessionId: z.string().nullable(), until: z.string() })

const cookies = sealedCookie({ table: 'admin_passkeys', row: 'cookie', column: 'challenge' }, Challenge)

/** Throws CONFIG. The address of the settings alone counts, never that of a request. */
export function assertRelyingParty({ baseUrl }: Pick<AdminDeps, 'baseUrl'>): RelyingParty {
  const party = relyingPartyOf(baseUrl)
  if (party) return party
  throw problem(
    'CONFIG',
    `Browsers allow no passkeys at ${new URL(baseUrl).origin}. fix: set TENANTRY_PUBLIC_URL to an https address with a name, or to http://localhost:<port>`,
  )
}

/** A new challenge, and the cookie that ties its answer to this browser. Nothing is stored before it is answered. */
export function makeChallenge(deps: Pick<AdminDeps, 'random' | 'clock' | 'keyring'>, sessionId: string | null) {
  const challenge = Buffer.from(deps.random.bytes(32)).toString('base64url')
  return { challenge, cookie: cookies.seal(deps, { challenge, sessionId, until: isoIn(deps.clock, passkeyMs) }) }
}

type TakeDeps = Pick<AdminDeps, 'db' | 'clock' | 'keyring'>
type Answered = Readonly<{ cookie: string | undefined; sessionId: string | null }>

/**
 * The challenge of the cookie, once on all replicas, whether its answer holds or not. Those that expired on every clock are deleted here: the
 * table holds the answers of ten minutes. Throws LOGIN_FAILED.
 */
export async function takeChallenge(deps: TakeDeps, { cookie, sessionId }: Answered): Promise<string> {
  const found = cookies.open(deps, cookie)
  await deps.db.deleteFrom('admin_passkey_challenges').where('expires_at', '<=', isoIn(deps.clock, -passkeyMs)).execute()
  const isTaken =
    found?.sessionId === sessionId &&
    (await deps.db
      .insertInto('admin_passkey_challenges')
      .values({ hash: sha256Hex(found.challenge), expires_at: found.until })
      .onConflict((conflict) => conflict.doNothing())
      .returning('hash')
      .executeTakeFirst())
  if (isTaken) return found.challenge
  const minutes = passkeyMs / 60_000
  throw problem(
    'LOGIN_FAILED',
    `This was begun in another browser or session, more than ${minutes} minutes ago, or answered already. fix: begin it again`,
  )
}
