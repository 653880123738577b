import { bearerToken, type Clock, isoIn, isoNow, newId, problem, sha256Hex, type VendorActor } from '../../core/kit/index.ts'
import { vendorSessionMs } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { MarketplaceDeps } from './deps.ts'
import { linkOfToken, useVendorLink } from './vendor-links.ts'
import { vendorIdsOf } from './vendors.repo.ts'

/** `vst_` and 32 random bytes. */
const tokenForm = /^vst_[A-Za-z0-9_-]{43}$/

type Deps = Pick<MarketplaceDeps, 'db' | 'clock' | 'random' | 'keyring'>
type Opened = Readonly<{ token: string; email: string; expiresAt: string }>
type Link = Readonly<{ token: string }>

/** Spends a link of a mail and opens a session for its address. Throws LINK_INVALID. */
export async function openVendorSession(deps: Deps, { token: given }: Link): Promise<Opened> {
  const { db, clock, random } = deps
  const { id: linkId, email } = await linkOfToken(deps, given)
  const [id, expiresAt] = [newId(random, 'vss'), isoIn(clock, vendorSessionMs)]
  const token = `vst_${Buffer.from(random.bytes(32)).toString('base64url')}`
  await db.transaction().execute(async (tx) => {
    await useVendorLink(tx, clock, { id: linkId })
    await tx
      .insertInto('vendor_sessions')
      .values({ id, token_hash: sha256Hex(token), email, created_at: isoNow(clock), expires_at: expiresAt })
      .execute()
    const actor = { kind: 'vendor', sessionId: id, name: id, email } as const
    // The audit log is never deleted, so it names no address.
    const data = { sessionId: id, vendorIds: await vendorIdsOf(tx, { email }) }
    await recordAudit(tx, clock, { actor, action: 'marketplace.vendor-session-opened', subject: id, data })
  })
  return { token, email, expiresAt }
}

/** Authenticates `Bearer vst_…` by the database: a session that ended is refused at once. Throws UNAUTHENTICATED. */
export const authenticateVendor =
  ({ db, clock }: Readonly<{ db: DbOrTx; clock: Clock }>) =>
  async (authorization: string | undefined): Promise<VendorActor> => {
    const token = bearerToken(authorization) ?? ''
    const query = db.selectFrom('vendor_sessions').select(['id', 'email', 'expires_at'])
    const row = tokenForm.test(token) ? await query.where('token_hash', '=', sha256Hex(token)).executeTakeFirst() : undefined
    if (!row || row.expires_at <= isoNow(clock))
      throw problem('UNAUTHENTICATED', 'The session of the vendor is unknown or has ended. fix: ask for a new link')
    return { kind: 'vendor', sessionId: row.id, name: row.id, email: row.email }
  }

export async function closeVendorSession({ db }: Pick<Deps, 'db'>, { sessionId }: VendorActor): Promise<undefined> {
  await db.deleteFrom('vendor_sessions').where('id', '=', sessionId).execute()
  return undefined
}

/** Ends the session of a cookie that another one replaces: no page could log it out any more. */
export async function endReplacedSession({ db }: Pick<Deps, 'db'>, token: string | undefined): Promise<void> {
  if (token !== undefined) await db.deleteFrom('vendor_sessions').where('token_hash', '=', sha256Hex(token)).execute()
}

export async function sessionEnd({ db }: Pick<MarketplaceDeps, 'db'>, { sessionId }: VendorActor): Promise<string> {
  const row = await db.selectFrom('vendor_sessions').select('expires_at').where('id', '=', sessionId).executeTakeFirst()
  if (!row) throw problem('UNAUTHENTICATED', 'The session has ended. fix: ask for a new link')
  return row.expires_at
}
