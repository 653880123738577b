import { TOTP, Secret as TotpSecret } from 'otpauth'
import { requiresTotp } from '../../core/admin/index.ts'
import {
  type Actor,
  type AdminActor,
  type Clock,
  isoNow,
  problem,
  type Random,
  randomText,
  type Secret,
  sha256Hex,
} from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { Db, Tx, WithTx } from '../db/index.ts'
import { type Keyring, seal, unseal } from '../sealed/index.ts'
import { accountById, accountByName, type StoredAccount } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { clearFailures } from './login-attempts.ts'

import { deletePasskeysOf } from './passkeys.repo.ts'
import { grouped, recordFailedAttempt, verifyOwnPassword } from './passwords.ts'

import { endSessions } from './sessions.ts'

const totpPlace = (accountId: string) => ({ table: 'admin_accounts', row: accountId, column: 'totp_secret' })

const makeTotpSecret = (random: Random): string => new TotpSecret({ buffer: Uint8Array.from(random.bytes(20)).buffer }).base32

const generator = (base32: string, label: string) => new TOTP({ issuer: 'Tenantry', label, secret: TotpSecret.fromBase32(base32) })

/** The otpauth:// URI for a QR code. */
const totpUri = (base32: string, label: string): string => generator(base32, label).toString()

const periodMs = 30_000

/** The time step of a code, at most one step from now; undefined for a wrong code. */
function stepOf(secret: Secret, code: string, clock: Clock): number | undefined {
  const timestamp = clock.now().getTime()
  const delta = generator(secret.reveal(), 'any').validate({ token: code, timestamp, window: 1 })
  return delta === null ? undefined : Math.floor(timestamp / periodMs) + delta
}

type TotpDeps = Readonly<{ clock: Clock; keyring: Keyring }>

/** Accepts a TOTP code once: the stored step only increases, so an observed code cannot be reused. */
async function consumeTotp({ clock, keyring, tx }: WithTx<TotpDeps>, account: StoredAccount, code: string): Promise<boolean> {
  if (!account.sealedTotp || !/^\d{6}$/.test(code)) return false
  const step = stepOf(unseal(keyring, totpPlace(account.id), account.sealedTotp), code, clock)
  if (step === undefined) return false
  const moved = await tx
    .updateTable('admin_accounts')
    .set({ totp_step: step })
    .where('id', '=', account.id)
    .where('totp_secret', '=', account.sealedTotp)
    .where((where) => where.or([where('totp_step', 'is', null), where('totp_step', '<', step)]))
    .executeTakeFirst()
  return moved.numUpdatedRows > 0n
}

const recoveryHash = (accountId: string, code: string) => sha256Hex(`${accountId}/${code.toLowerCase().replace(/[^0-9a-z]/g, '')}`)

/** Accepts a recovery code once. */
async function consumeRecoveryCode({ clock, tx }: WithTx<TotpDeps>, { id }: StoredAccount, code: string): Promise<boolean> {
  const used = await tx
    .updateTable('admin_recovery_codes')
    .set({ used_at: isoNow(clock) })
    .where('account_id', '=', id)
    .where('hash', '=', recoveryHash(id, code))
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return used.numUpdatedRows > 0n
}

/** Accepts a TOTP or recovery code and returns which one it was; undefined for a wrong code. */
export async function consumeCode(deps: WithTx<TotpDeps>, account: StoredAccount, code: string): Promise<'totp' | 'recovery' | undefined> {
  if (await consumeTotp(deps, account, code)) return 'totp'
  return (await consumeRecoveryCode(deps, account, code)) ? 'recovery' : undefined
}

/** Replaces the recovery codes of an account; only hashes are stored. */
async function replaceRecoveryCodes(tx: Tx, accountId: string, codes: readonly string[]): Promise<void> {
  await tx.deleteFrom('admin_recovery_codes').where('account_id', '=', accountId).execute()
  if (codes.length === 0) return
  await tx
    .insertInto('admin_recovery_codes')
    .values(codes.map((code) => ({ account_id: accountId, hash: recoveryHash(accountId, code), used_at: null })))
    .execute()
}

/** Disables TOTP and deletes the recovery codes. */
async function clearTotp(tx: Tx, accountId: string): Promise<void> {
  await tx
    .updateTable('admin_accounts')
    .set({ totp_secret: null, totp_confirmed_at: null, totp_step: null })
    .where('id', '=', accountId)
    .execute()
  await replaceRecoveryCodes(tx, accountId, [])
}

type EnrolTotpDeps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring'>

/** Creates a TOTP secret, used only after `confirmTotp`; a second call replaces it. Throws WRONG_PASSWORD, CONFLICT. */
export async function enrolTotp(
  deps: EnrolTotpDeps,
  actor: AdminActor,
  { password, address }: { password: string; address: string },
): Promise<{ secret: string; uri: string }> {
  const { db, clock, random, keyring } = deps
  const account = await accountById(db, actor.accountId)
  const attempt = await verifyOwnPassword(deps, { password, address, account })
  const secret = makeTotpSecret(random)
  await db.transaction().execute(async (tx) => {
    const begun = await tx
      .updateTable('admin_accounts')
      .set({ totp_secret: seal({ keyring, random }, totpPlace(account.id), secret), totp_step: null })
      .where('id', '=', account.id)
      .where('totp_confirmed_at', 'is', null)
      .executeTakeFirst()
    if (begun.numUpdatedRows === 0n) throw problem('CONFLICT', 'TOTP is already enabled. fix: disable it first')
    await clearFailures(tx, attempt)
    await recordAudit(tx, clock, { actor, action: 'account.totp-begun', subject: account.name })
  })
  return { secret, uri: totpUri(secret, account.name) }
}

type ConfirmTotpDeps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring' | 'revocations'>

const recoveryCodeCount = 10

/** Enables TOTP after a first valid code. Returns the recovery codes, which are shown only once. Throws LOGIN_FAILED, CONFLICT. */
export async function confirmTotp(
  deps: ConfirmTotpDeps,
  actor: AdminActor,
  { totp }: { totp: string },
): Promise<{ recoveryCodes: string[] }> {
  const { db, clock, random, revocations } = deps
  // 140 bits.
  const recoveryCodes = Array.from({ length: recoveryCodeCount }, () => grouped(randomText(random, 28)))
  await db.transaction().execute(async (tx) => {
    const account = await accountById(tx, actor.accountId)
    if (!account.sealedTotp || account.totpConfirmed)
      throw problem('CONFLICT', 'No TOTP enrolment to confirm. fix: POST /api/admin/v1/totp/enrol first')
    if (!(await consumeTotp({ ...deps, tx }, account, totp)))
      throw problem('LOGIN_FAILED', 'The code is wrong. fix: check the clock of the phone and try the next code')
    await tx
      .updateTable('admin_accounts')
      .set({ totp_confirmed_at: isoNow(clock) })
      .where('id', '=', account.id)
      .execute()
    await replaceRecoveryCodes(tx, account.id, recoveryCodes)
    await publishRevocation(tx, clock, { kind: 'admin-account', subject: account.id })
    await recordAudit(tx, clock, { actor, action: 'account.totp-enabled', subject: account.name })
  })
  await revocations.readNow()
  return { recoveryCodes }
}

type DisableTotpDeps = Pick<AdminDeps, 'db' | 'clock' | 'keyring' | 'totpRequired'>
type Disable = Readonly<{ password: string; totp: string; address: string }>

/** Disables the caller's TOTP, with password and code, where the role does not require it. Throws WRONG_PASSWORD, LOGIN_FAILED (the code), CONFLICT. */
export async function disableTotp(deps: DisableTotpDeps, actor: AdminActor, { password, totp, address }: Disable): Promise<void> {
  const { db, clock, totpRequired } = deps
  const account = await accountById(db, actor.accountId)
  if (!account.totpConfirmed) throw problem('CONFLICT', 'TOTP is not enabled for this account.')
  if (requiresTotp(account.role, totpRequired))
    throw problem(
      'CONFLICT',
      `The role ${account.role} requires TOTP. fix: for a new phone, run \`tenantryd admin reset-totp\` on the daemon's machine`,
    )
  const attempt = await verifyOwnPassword(deps, { password, address, account })
  const done = await db.transaction().execute(async (tx) => {
    if (!(await consumeCode({ ...deps, tx }, account, totp))) return false
    await clearFailures(tx, attempt)
    await clearTotp(tx, account.id)
    await recordAudit(tx, clock, { actor, action: 'account.totp-disabled', subject: account.name })
    return true
  })
  if (!done) throw await recordFailedAttempt(deps, { attempt, account, address })
}

/** For a lost phone: disables TOTP, removes the passkeys and ends the sessions. Where the role requires TOTP, the next login enrols again. Throws NOT_FOUND. */
export async function resetTotp({ db, clock }: { db: Db; clock: Clock }, actor: Actor, { name }: { name: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const account = await accountByName(tx, name)
    if (!account) throw problem('NOT_FOUND', `Account ${name} does not exist.`)
    await clearTotp(tx, account.id)
    const passkeys = await deletePasskeysOf(tx, account.id)
    await endSessions({ tx, clock }, account.id)
    await recordAudit(tx, clock, { actor, action: 'account.totp-reset', subject: account.name, data: { passkeys } })
  })
}
