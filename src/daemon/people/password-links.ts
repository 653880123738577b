import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, newId, plural, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import { type LinkCounts, type LinkKind, linkBounds, linkMs, mayLink } from '../../core/people/index.ts'
import { type Db, type DbOrTx, deleteInBatches, enqueueJob, lockExclusive, type Tx } from '../db/index.ts'
import { isLinkToken, type Keyring, linkToken } from '../sealed/index.ts'
import { tenantById } from '../tenants/index.ts'
import { findUserById, passwordSetAt, type UserRecord } from '../users/index.ts'

/** The topic of the job that mails a link; its payload names the link, never an address or a token. */
export const linkTopic = 'people.password-link'

const purpose = 'password-link'

/** The token of a mail: the id of the link, and a proof that the platform made it. */
export const tokenOf = (keyring: Keyring, id: string): string => `${id}.${linkToken(keyring, { purpose, text: id })}`

type NewLink = Readonly<{ user: UserRecord; kind: LinkKind; network: string }>

/** Stores a link for the user's mail address and enqueues its mail. Returns its end; null where a bound is reached, or without an address. */
export async function addLink(
  { clock, random }: Readonly<{ clock: Clock; random: Random }>,
  tx: Tx,
  { user, kind, network }: NewLink,
): Promise<string | null> {
  if (user.email === null) return null
  await lockExclusive(tx, `password-links:${user.tenantId}`)
  const since = isoIn(clock, -linkBounds[kind].withinMs)
  if (!mayLink(kind, await countLinks(tx, { user, kind, network, since }))) return null
  const [id, expiresAt] = [newId(random, 'pwl'), isoIn(clock, linkMs[kind])]
  await tx
    .insertInto('password_links')
    .values({
      ...{ id, tenant_id: user.tenantId, user_id: user.id, kind, network, address_hash: sha256Hex(user.email) },
      ...{ created_at: isoNow(clock), expires_at: expiresAt, used_at: null },
    })
    .execute()
  await enqueueJob(tx, clock, { topic: linkTopic, payload: { linkId: id }, key: id })
  return expiresAt
}

async function countLinks(tx: Tx, { user, kind, network, since }: NewLink & Readonly<{ since: string }>): Promise<LinkCounts> {
  const links = tx
    .selectFrom('password_links')
    .select((of) => of.fn.countAll().as('count'))
    .where('tenant_id', '=', user.tenantId)
    .where('created_at', '>', since)
    .where('kind', '=', kind)
  const count = async (query: typeof links) => Number((await query.executeTakeFirstOrThrow()).count)
  return {
    ofTenant: await count(links),
    ofUser: await count(links.where('user_id', '=', user.id)),
    ofNetwork: await count(links.where('network', '=', network)),
  }
}

type Deps = Readonly<{ db: DbOrTx; clock: Clock; keyring: Keyring }>

/** Throws LINK_INVALID for a token that no mail had, and for a link that may not be used any more; always in the same words. */
export async function linkOfToken(deps: Deps, token: string) {
  const [id = '', proof = ''] = token.split('.', 2)
  if (!isLinkToken(deps.keyring, { purpose, text: id, token: proof })) throw invalidLink()
  return validLink(deps, id)
}

/** A link ends with its time, its use, any newer password, a changed address, and with the account. Throws LINK_INVALID. */
export async function validLink({ db, clock }: Omit<Deps, 'keyring'>, id: string) {
  const row = await db.selectFrom('password_links').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row || row.used_at !== null || row.expires_at <= isoNow(clock)) throw invalidLink()
  const user = await findUserById(db, row.user_id)
  const tenant = await tenantById(db, row.tenant_id)
  if (user?.status !== 'active' || tenant?.status !== 'active') throw invalidLink()
  if (user.email === null || sha256Hex(user.email) !== row.address_hash) throw invalidLink()
  if (((await passwordSetAt(db, user.id)) ?? '') >= row.created_at) throw invalidLink()
  return { id, kind: row.kind, expiresAt: row.expires_at, email: user.email, user, tenant }
}

const invalidLink = () =>
  problem('LINK_INVALID', 'This link is unknown, was used, or has expired. fix: ask for a new one, or your administration')

/** Marks the link as used. Throws LINK_INVALID if it was used meanwhile. */
export async function useLink(tx: Tx, clock: Clock, { id }: Readonly<{ id: string }>): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('password_links')
    .set({ used_at: isoNow(clock) })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw invalidLink()
}

/** Until when the newest link of a user may be used; undefined: there is none. */
export async function openLinkUntil(db: DbOrTx, { user, now }: Readonly<{ user: UserRecord; now: string }>): Promise<string | undefined> {
  const row = await db
    .selectFrom('password_links')
    .select('expires_at')
    .where('user_id', '=', user.id)
    .where('created_at', '>', (await passwordSetAt(db, user.id)) ?? '')
    .where('address_hash', '=', sha256Hex(user.email ?? ''))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .orderBy('expires_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.expires_at
}

/** Expired links count against the bounds of a day. */
const countedMs = Math.max(...Object.values(linkBounds).map(({ withinMs }) => withinMs))

export async function deleteOldLinks({ db, clock }: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<string> {
  const where = sql`expires_at < ${isoIn(clock, -countedMs)}`
  return plural(await deleteInBatches(db, { table: 'password_links', where, signal }), 'old password link')
}
