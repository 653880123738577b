import { consoleIdleMs, type SetupStep, setupSteps } from '../../core/admin/index.ts'
import { type AdminRole, adminRoles } from '../../core/contract/index.ts'
import { type AdminActor, type Clock, isoIn, isoNow, type TokenActor } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

/** The owner of a credential, its expiry and the setup steps that remain. */
export type Caller = Readonly<{
  actor: AdminActor | TokenActor
  accountId: string
  expiresAtMs: number
  /** Console sessions only: the last call by a person; the session ends an hour later. */
  lastUsedAtMs?: number
  /** When the session last gave password and code. */
  provenAtMs?: number
  setup: readonly SetupStep[]
}>

type SessionKey = Readonly<{ column: 'admin_sessions.id' | 'cookie_hash'; value: string }>

/** Undefined when the session ended or its account is disabled. A session of the web console is found by its cookie alone. */
export async function callerOfSession(db: Db, { column, value }: SessionKey, totpRequired: boolean): Promise<Caller | undefined> {
  const row = await db
    .selectFrom('admin_sessions')
    .innerJoin('admin_accounts', 'admin_accounts.id', 'admin_sessions.account_id')
    .select(['admin_sessions.id as session_id', 'admin_sessions.expires_at', 'last_used_at', 'proven_at'])
    .select(['admin_accounts.id', 'name', 'role', 'initial_password_expires_at', 'totp_confirmed_at', 'provider_subject'])
    .where(column, '=', value)
    .where('cookie_hash', column === 'cookie_hash' ? 'is not' : 'is', null)
    .where('revoked_at', 'is', null)
    .where('status', '=', 'active')
    .executeTakeFirst()
  if (!row) return undefined
  const state = {
    role: row.role,
    hasInitialPassword: row.initial_password_expires_at !== null,
    hasTotp: row.totp_confirmed_at !== null,
    byProvider: row.provider_subject !== null,
  }
  return {
    actor: { kind: 'admin', accountId: row.id, name: row.name, role: row.role, sessionId: row.session_id },
    accountId: row.id,
    expiresAtMs: Date.parse(row.expires_at),
    ...(row.last_used_at === null ? {} : { lastUsedAtMs: Date.parse(row.last_used_at) }),
    ...(row.proven_at === null ? {} : { provenAtMs: Date.parse(row.proven_at) }),
    setup: setupSteps(state, totpRequired),
  }
}

/** Undefined when the token was revoked or the account of its creator is disabled. */
export async function callerOfToken(db: Db, hash: string): Promise<Caller | undefined> {
  const row = await db
    .selectFrom('api_tokens')
    .innerJoin('admin_accounts', 'admin_accounts.id', 'api_tokens.account_id')
    .select(['api_tokens.id', 'api_tokens.name', 'api_tokens.role', 'account_id', 'expires_at', 'admin_accounts.role as creator_role'])
    .where('hash', '=', hash)
    .where('status', '=', 'active')
    .executeTakeFirst()
  if (!row) return undefined
  const role = lowerRole(row.role, row.creator_role)
  return {
    actor: { kind: 'token', tokenId: row.id, accountId: row.account_id, name: row.name, role },
    accountId: row.account_id,
    expiresAtMs: Date.parse(row.expires_at),
    setup: [],
  }
}

/** A token never exceeds the current role of its creator. */
const lowerRole = (role: TokenActor['role'], creator: AdminRole): TokenActor['role'] =>
  creator === 'admin' || adminRoles.indexOf(role) <= adminRoles.indexOf(creator) ? role : creator

const recordUseEveryMs = 10 * 60_000

/** Records the last use with a precision of ten minutes, to find unused tokens. */
export async function recordTokenUse(db: Db, clock: Clock, tokenId: string): Promise<void> {
  await db
    .updateTable('api_tokens')
    .set({ last_used_at: isoNow(clock) })
    .where('id', '=', tokenId)
    .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', isoIn(clock, -recordUseEveryMs))]))
    .execute()
}

/** Records a call of a person. The session was valid a moment ago: one that ended meanwhile stays ended. */
export async function recordConsoleUse(db: Db, clock: Clock, sessionId: string): Promise<void> {
  const atLeast = isoIn(clock, -consoleIdleMs)
  await db
    .updateTable('admin_sessions')
    .set({ last_used_at: isoNow(clock) })
    .where('id', '=', sessionId)
    .where('last_used_at', '>', atLeast)
    .where('last_used_at', '<', isoNow(clock))
    .execute()
}
