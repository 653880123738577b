import type { ApiToken } from '../../core/admin/index.ts'
import { type Actor, type AdminActor, isoIn, isoNow, newId, problem, sha256Hex } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { type DbOrTx, isUniqueViolation } from '../db/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'

/** `tnt_` and 32 random bytes; secret scanners recognise the prefix. */
export const tokenForm = /^tnt_[A-Za-z0-9_-]{43}$/

export const tokenHash = (token: string): string => sha256Hex(token)

export async function listLiveTokens(db: DbOrTx, now: string): Promise<ApiToken[]> {
  const rows = await db
    .selectFrom('api_tokens')
    .innerJoin('admin_accounts', 'admin_accounts.id', 'api_tokens.account_id')
    .select(['api_tokens.id', 'api_tokens.name', 'api_tokens.role', 'prefix', 'admin_accounts.name as createdBy'])
    .select(['api_tokens.created_at as createdAt', 'expires_at as expiresAt', 'last_used_at as lastUsedAt'])
    .where('expires_at', '>', now)
    .orderBy('api_tokens.name')
    .execute()
  return rows
}

type CreateTokenDeps = Pick<AdminDeps, 'db' | 'clock' | 'random'>
type NewToken = Readonly<{ name: string; role: ApiToken['role']; days: number }>

const dayMs = 24 * 60 * 60_000
/** The provider does not say that a person has left: a token must not outlive that for long. */
const maxProviderDays = 90

/** Creates an API token; only its hash is stored. Throws ALREADY_EXISTS, and VALIDATION for a company account that asks for more days than such may have. */
export async function createToken(
  { db, clock, random }: CreateTokenDeps,
  actor: AdminActor,
  { name, role, days }: NewToken,
): Promise<ApiToken & { token: string }> {
  const token = `tnt_${Buffer.from(random.bytes(32)).toString('base64url')}`
  const [id, prefix, createdAt, expiresAt] = [newId(random, 'tok'), token.slice(0, 8), isoNow(clock), isoIn(clock, days * dayMs)]
  const owner = { hash: tokenHash(token), account_id: actor.accountId }
  try {
    await db.transaction().execute(async (tx) => {
      if (days > maxProviderDays && (await accountById(tx, actor.accountId)).byProvider) throw tooManyDays()
      await tx
        .insertInto('api_tokens')
        .values({ id, name, role, prefix, ...owner, created_at: createdAt, expires_at: expiresAt, last_used_at: null })
        .execute()
      await recordAudit(tx, clock, { actor, action: 'token.created', subject: name, data: { id, role, expiresAt } })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw problem('ALREADY_EXISTS', `API token ${name} exists already. fix: revoke it, or choose another name`)
  }
  return { id, name, role, prefix, createdBy: actor.name, createdAt, expiresAt, lastUsedAt: null, token }
}

function tooManyDays() {
  const reason = `must be at most ${maxProviderDays} for an account of the company login, whose groups are read only when its person logs in`
  return problem('VALIDATION', `days: ${reason}`, { details: [{ path: 'days', reason }] })
}

type RevokeTokenDeps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Revokes an API token on every replica within a second. */
export async function revokeToken({ db, clock, revocations }: RevokeTokenDeps, actor: Actor, { id }: { id: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx.deleteFrom('api_tokens').where('id', '=', id).returning('name').executeTakeFirst()
    if (!row) throw problem('NOT_FOUND', `API token ${id} does not exist.`)
    await publishRevocation(tx, clock, { kind: 'api-token', subject: id })
    await recordAudit(tx, clock, { actor, action: 'token.revoked', subject: row.name, data: { id } })
  })
  await revocations.readNow()
}
