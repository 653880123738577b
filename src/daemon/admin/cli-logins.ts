import { type CliLogin, providerLoginMs } from '../../core/admin/index.ts'
import { type AdminActor, isoIn, isoNow, newId, problem } from '../../core/kit/index.ts'
import { networkKey } from '../../core/limits/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { addSession, sessionMs } from './sessions.ts'
import { tokenHash } from './tokens.ts'

// The login of a command line that a person approves in a browser, whatever way that person logged in there (as RFC 8628 has it).

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random'>

/** Strangers may begin logins: no more than these wait at once, and of these no more from one network. */
const maxWaiting = 1000
const maxOfNetwork = 20
/** One client may have all addresses of such a network. */
const network = { v4: 24, v6: 48 }
/** Letters without vowels: they form no words, and look like nothing else. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'

/** A new login that waits for its approval: the secret of the command line, and the code that people compare. Throws UNAVAILABLE. */
export async function beginCliLogin({ db, clock, random }: Deps, { address, baseUrl }: Readonly<{ address: string; baseUrl: string }>) {
  const waiting = await db.selectFrom('admin_cli_logins').select('address').where('expires_at', '>', isoNow(clock)).execute()
  const own = networkKey(address, network)
  if (waiting.length >= maxWaiting || waiting.filter((one) => networkKey(one.address, network) === own).length >= maxOfNetwork)
    throw problem('UNAVAILABLE', 'Too many logins of command lines wait for their approval. fix: log in with name and password')
  const deviceCode = Buffer.from(random.bytes(32)).toString('base64url')
  const drawn = Array.from(random.bytes(8), (byte) => letters[byte % letters.length]).join('')
  const userCode = `${drawn.slice(0, 4)}-${drawn.slice(4)}`
  const times = { created_at: isoNow(clock), expires_at: isoIn(clock, providerLoginMs) }
  await db
    .insertInto('admin_cli_logins')
    .values({ device_hash: tokenHash(deviceCode), user_code: userCode, address, ...times, account_id: null, proven_at: null })
    .execute()
  return { deviceCode, userCode, page: `${baseUrl}/console/login/cli?code=${userCode}`, expiresAt: times.expires_at }
}

/** Throws NOT_FOUND for one that is unknown, expired or approved already. */
export async function showCliLogin({ db, clock }: Pick<Deps, 'db' | 'clock'>, userCode: string): Promise<CliLogin> {
  const row = await waitingLogins(db, isoNow(clock)).where('user_code', '=', userCode).executeTakeFirst()
  if (!row) throw notWaiting(userCode)
  return { userCode: row.user_code, address: row.address, createdAt: row.created_at, expiresAt: row.expires_at }
}

const waitingLogins = (db: DbOrTx, now: string) =>
  db.selectFrom('admin_cli_logins').selectAll().where('account_id', 'is', null).where('expires_at', '>', now)

const notWaiting = (userCode: string) =>
  problem('NOT_FOUND', `No login with the code ${userCode} waits for approval. fix: run \`tenantry login --browser\` again`)

/** Gives a command line the account of the caller. Throws NOT_FOUND. */
export async function approveCliLogin({ db, clock }: Pick<Deps, 'db' | 'clock'>, actor: AdminActor, userCode: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = await tx.selectFrom('admin_sessions').select('proven_at').where('id', '=', actor.sessionId).executeTakeFirst()
    const approved = await tx
      .updateTable('admin_cli_logins')
      .set({ account_id: actor.accountId, proven_at: session?.proven_at ?? null })
      .where('user_code', '=', userCode)
      .where('account_id', 'is', null)
      .where('expires_at', '>', isoNow(clock))
      .returning('address')
      .executeTakeFirst()
    if (!approved) throw notWaiting(userCode)
    await recordAudit(tx, clock, { actor, action: 'session.approved', subject: userCode, data: { address: approved.address } })
  })
}

/** The session of an approved login, once; undefined until it is approved. Throws LOGIN_FAILED. */
export async function finishCliLogin(deps: Deps & Pick<AdminDeps, 'keys'>, deviceCode: string) {
  const { db, clock, random, keys } = deps
  const taken = await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom('admin_cli_logins')
      .selectAll()
      .where('device_hash', '=', tokenHash(deviceCode))
      .where('expires_at', '>', isoNow(clock))
      .executeTakeFirst()
    if (!row) throw problem('LOGIN_FAILED', 'This login is used or expired. fix: run `tenantry login --browser` again')
    if (row.account_id === null) return undefined
    const deleted = await tx.deleteFrom('admin_cli_logins').where('device_hash', '=', row.device_hash).executeTakeFirst()
    if (deleted.numDeletedRows === 0n) throw problem('LOGIN_FAILED', 'This login was taken already.')
    const account = await accountById(tx, row.account_id)
    if (!account.active) throw problem('LOGIN_FAILED', `Account ${account.name} is disabled.`)
    const sessionId = newId(random, 'ses')
    const { id: accountId, name, role } = account
    await addSession(tx, clock, { id: sessionId, accountId, address: row.address, cookieHash: undefined, provenAt: row.proven_at })
    const actor: AdminActor = { kind: 'admin', accountId, name, role, sessionId }
    const data = { address: row.address, approved: true }
    await recordAudit(tx, clock, { actor, action: 'session.opened', subject: sessionId, data })
    return { account: { id: accountId, name, role }, sessionId }
  })
  if (!taken) return undefined
  return { ...(await keys.sign({ sub: taken.account.id, sid: taken.sessionId }, sessionMs)), account: taken.account }
}
