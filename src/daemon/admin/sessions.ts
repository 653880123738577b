import { consoleIdleMs, type SetupStep, setupSteps } from '../../core/admin/index.ts'
import { type AdminActor, type Clock, isoIn, isoNow, problem, type TokenActor } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { accountById, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'

/** One working day. */
export const sessionMs = 12 * 60 * 60_000

export const sessionExpiry = (clock: Clock): string => isoIn(clock, sessionMs)

/** `cookieHash`: of a session of the web console. `provenAt`: when the person gave password and code, here or at the provider; null: not at all. */
type NewSession = Readonly<{ id: string; accountId: string; address: string; cookieHash: string | undefined; provenAt: string | null }>

export async function addSession(tx: Tx, clock: Clock, input: NewSession): Promise<void> {
  const { id, accountId, address, cookieHash, provenAt } = input
  const [now, expiresAt] = [isoNow(clock), sessionExpiry(clock)]
  const byCookie = { cookie_hash: cookieHash ?? null, last_used_at: cookieHash ? now : null }
  const row = {
    id,
    account_id: accountId,
    address,
    created_at: now,
    expires_at: expiresAt,
    revoked_at: null,
    ...byCookie,
    proven_at: provenAt,
  }
  await tx.insertInto('admin_sessions').values(row).execute()
}

type OpenSession = Readonly<{
  id: string
  accountId: string
  accountName: string
  address: string
  createdAt: string
  expiresAt: string
  lastUsedAt: string | null
}>

const openSessions = (db: DbOrTx, clock: Clock) =>
  db
    .selectFrom('admin_sessions')
    .innerJoin('admin_accounts', 'admin_accounts.id', 'admin_sessions.account_id')
    .select(['admin_sessions.id', 'account_id as accountId', 'admin_accounts.name as accountName', 'address'])
    .select(['admin_sessions.created_at as createdAt', 'expires_at as expiresAt', 'last_used_at as lastUsedAt'])
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', isoNow(clock))
    .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '>', isoIn(clock, -consoleIdleMs))]))

export const listOpenSessions = (db: DbOrTx, clock: Clock, accountId?: string): Promise<OpenSession[]> =>
  openSessions(db, clock)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId as string))
    .orderBy('admin_sessions.created_at', 'desc')
    .execute()

const openSession = (db: DbOrTx, clock: Clock, id: string): Promise<OpenSession | undefined> =>
  openSessions(db, clock).where('admin_sessions.id', '=', id).executeTakeFirst()

/** Ends a session on every replica within a second. False if it had ended before. */
async function endSession(tx: Tx, clock: Clock, id: string): Promise<boolean> {
  const ended = await tx
    .updateTable('admin_sessions')
    .set({ revoked_at: isoNow(clock) })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (ended.numUpdatedRows === 0n) return false
  await publishRevocation(tx, clock, { kind: 'admin-session', subject: id })
  return true
}

/** Ends all sessions of an account, except one if given, and the logins of command lines that it approved. */
export async function endSessions({ tx, clock }: Readonly<{ tx: Tx; clock: Clock }>, accountId: string, except?: string): Promise<void> {
  await tx
    .updateTable('admin_sessions')
    .set({ revoked_at: isoNow(clock) })
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)
    .$if(except !== undefined, (query) => query.where('id', '!=', except as string))
    .execute()
  await tx.deleteFrom('admin_cli_logins').where('account_id', '=', accountId).execute()
  await publishRevocation(tx, clock, { kind: 'admin-account', subject: accountId })
}

type ListSessionsDeps = Pick<AdminDeps, 'db' | 'clock'>

/** Open sessions of the caller, or of all accounts for the role admin. Throws FORBIDDEN. */
export async function listSessions({ db, clock }: ListSessionsDeps, actor: AdminActor, { all }: { all: boolean }) {
  if (all && actor.role !== 'admin')
    throw problem('FORBIDDEN', `Listing all sessions needs the role admin; ${actor.name} has the role ${actor.role}.`)
  const sessions = await listOpenSessions(db, clock, all ? undefined : actor.accountId)
  return sessions.map((session) => ({
    ...session,
    kind: session.lastUsedAt === null ? ('token' as const) : ('console' as const),
    current: session.id === actor.sessionId,
  }))
}

type RevokeSessionDeps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Ends a session. Returns NOT_FOUND for sessions of others unless the caller is admin. */
export async function revokeSession(
  { db, clock, revocations }: RevokeSessionDeps,
  actor: AdminActor,
  { id }: { id: string },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = await openSession(tx, clock, id)
    const allowed = session && (session.accountId === actor.accountId || actor.role === 'admin')
    if (!allowed || !(await endSession(tx, clock, id))) throw problem('NOT_FOUND', `Open session ${id} does not exist.`)
    await recordAudit(tx, clock, { actor, action: 'session.revoked', subject: id, data: { account: session.accountName } })
  })
  await revocations.readNow()
}

/** Ends the caller's session. */
export async function logout(
  { db, clock, revocations }: Pick<AdminDeps, 'db' | 'clock' | 'revocations'>,
  actor: AdminActor,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (await endSession(tx, clock, actor.sessionId))
      await recordAudit(tx, clock, { actor, action: 'session.closed', subject: actor.sessionId })
  })
  await revocations.readNow()
}

type WhoAmIDeps = Pick<AdminDeps, 'db' | 'totpRequired'>

/** The caller's identity, expiry and remaining setup steps. */
export async function whoAmI({ db, totpRequired }: WhoAmIDeps, actor: AdminActor | TokenActor) {
  const account = await accountById(db, actor.accountId)
  const isPerson = actor.kind === 'admin'
  const setup: SetupStep[] = isPerson ? remainingSetup(account, totpRequired) : []
  return {
    account: { id: account.id, name: account.name, role: actor.role },
    sessionId: isPerson ? actor.sessionId : null,
    token: isPerson ? null : { id: actor.tokenId, name: actor.name },
    expiresAt: await expiryOf(db, actor),
    setup,
    totp: account.totpConfirmed,
    login: account.byProvider ? ('provider' as const) : ('password' as const),
  }
}

async function expiryOf(db: WhoAmIDeps['db'], actor: AdminActor | TokenActor): Promise<string> {
  const row =
    actor.kind === 'admin'
      ? await db.selectFrom('admin_sessions').select('expires_at').where('id', '=', actor.sessionId).executeTakeFirst()
      : await db.selectFrom('api_tokens').select('expires_at').where('id', '=', actor.tokenId).executeTakeFirst()
  if (!row) throw problem('UNAUTHENTICATED', 'The session or API token has expired or was revoked. fix: log in again')
  return row.expires_at
}

export const remainingSetup = (account: StoredAccount, totpRequired: boolean): SetupStep[] => {
  const { role, initialPasswordExpiresAt, totpConfirmed, byProvider } = account
  return setupSteps({ role, hasInitialPassword: initialPasswordExpiresAt !== null, hasTotp: totpConfirmed, byProvider }, totpRequired)
}
