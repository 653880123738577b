import type { ApiToken } from '../../core/admin/index.ts'
import { type AdminActor, isoIn, isoNow, newId, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { isUniqueViolation } from '../db/index.ts'
import type { AdminDeps } from './deps.ts'
import { tokenHash } from './tokens.repo.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random'>
type NewToken = Readonly<{ name: string; role: ApiToken['role']; days: number }>

const dayMs = 24 * 60 * 60_000

/** An API token for scripts; the text is in the answer and nowhere else. */
export async function createToken(
  { db, clock, random }: Deps,
  actor: AdminActor,
  { name, role, days }: NewToken,
): Promise<ApiToken & { token: string }> {
  const token = `tnt_${Buffer.from(random.bytes(32)).toString('base64url')}`
  const [id, prefix, createdAt, expiresAt] = [newId(random, 'tok'), token.slice(0, 8), isoNow(clock), isoIn(clock, days * dayMs)]
  const owner = { hash: tokenHash(token), account_id: actor.accountId }
  try {
    await db.transaction().execute(async (tx) => {
      await tx
        .insertInto('api_tokens')
        .values({ id, name, role, prefix, ...owner, created_at: createdAt, expires_at: expiresAt, last_used_at: null })
        .execute()
      await recordAudit(tx, clock, { actor, action: 'token.created', subject: name, data: { id, role, expiresAt } })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw problem('ALREADY_EXISTS', `there is an API token ${name} already: revoke it, or choose another name`)
  }
  return { id, name, role, prefix, createdBy: actor.name, createdAt, expiresAt, lastUsedAt: null, token }
}
