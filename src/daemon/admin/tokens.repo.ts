import type { ApiToken } from '../../core/admin/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** `tnt_` and 32 random bytes: the prefix lets scanners find a token that was committed by mistake. */
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
