import { bearerToken, type Clock, escapeHtml, isoIn, isoNow, newId, problem, sha256Hex, type VendorActor } from '../../core/kit/index.ts'
import { vendorSessionMs } from '../../core/marketplace/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { htmlPage } from '../http/index.ts'
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

/** The page behind a link. It changes nothing: mail scanners open links, and only the button opens a session. Throws LINK_INVALID. */
export async function showVendorLink(deps: Pick<Deps, 'db' | 'clock' | 'keyring'>, { token }: Link): Promise<string> {
  const { email } = await linkOfToken(deps, token)
  return pageOf(`<h1>Open your account</h1>
<p>This opens the account of ${escapeHtml(email)} for ${vendorSessionMs / 3_600_000} hours.</p>
<form method="post"><button>Open account</button></form>
<p>If you did not ask for it, close this page.</p>`)
}

/** Opens a session by the button of that page, and shows its token once. Throws LINK_INVALID. */
export async function openVendorLink(deps: Deps & Pick<MarketplaceDeps, 'baseUrl'>, link: Link): Promise<string> {
  const { token, email, expiresAt } = await openVendorSession(deps, link)
  const command = `curl -H 'authorization: Bearer ${token}' ${deps.baseUrl}/api/vendor/v1/account`
  return pageOf(`<h1>Your account is open</h1>
<p>The account of ${escapeHtml(email)} is open until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC. This token opens it; it is not shown again:</p>
<pre>${escapeHtml(command)}</pre>
<p><a href="/docs#tag/vendor">All calls of the account</a></p>`)
}

/** The form has no address of its own: it posts to the link, also behind a proxy with a path. */
const pageOf = (body: string): string => htmlPage(body, { title: 'Tenantry marketplace' })

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

export async function sessionEnd({ db }: Pick<MarketplaceDeps, 'db'>, { sessionId }: VendorActor): Promise<string> {
  const row = await db.selectFrom('vendor_sessions').select('expires_at').where('id', '=', sessionId).executeTakeFirst()
  if (!row) throw problem('UNAUTHENTICATED', 'The session has ended. fix: ask for a new link')
  return row.expires_at
}
