import { TOTP, Secret as TotpSecret } from 'otpauth'
import { type Clock, isoNow, type Random, type Secret, sha256Hex } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { type Keyring, unseal } from '../sealed/index.ts'
import type { StoredAccount } from './accounts.repo.ts'

export const totpPlace = (accountId: string) => ({ table: 'admin_accounts', row: accountId, column: 'totp_secret' })

export const makeTotpSecret = (random: Random): string => new TotpSecret({ buffer: Uint8Array.from(random.bytes(20)).buffer }).base32

const generator = (base32: string, label: string) => new TOTP({ issuer: 'Tenantry', label, secret: TotpSecret.fromBase32(base32) })

/** The address that an authenticator app reads from a QR code. */
export const totpUri = (base32: string, label: string): string => generator(base32, label).toString()

const periodMs = 30_000

/** The time step that a code belongs to, one step before or after now included; undefined when it fits none. */
function stepOf(secret: Secret, code: string, clock: Clock): number | undefined {
  const timestamp = clock.now().getTime()
  const delta = generator(secret.reveal(), 'any').validate({ token: code, timestamp, window: 1 })
  return delta === null ? undefined : Math.floor(timestamp / periodMs) + delta
}

type Deps = Readonly<{ clock: Clock; keyring: Keyring }>

/** Takes a code of the app once: the step moves forward only, so a code that was seen over a shoulder is worth nothing. */
export async function spendTotp(tx: Tx, { clock, keyring }: Deps, account: StoredAccount, code: string): Promise<boolean> {
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

/** Takes a recovery code once. */
async function spendRecoveryCode(tx: Tx, { clock }: Deps, { id }: StoredAccount, code: string): Promise<boolean> {
  const used = await tx
    .updateTable('admin_recovery_codes')
    .set({ used_at: isoNow(clock) })
    .where('account_id', '=', id)
    .where('hash', '=', recoveryHash(id, code))
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return used.numUpdatedRows > 0n
}

/** How the second factor was shown, or undefined when the code fits neither the app nor a recovery code. */
export async function spendCode(tx: Tx, deps: Deps, account: StoredAccount, code: string): Promise<'totp' | 'recovery' | undefined> {
  if (await spendTotp(tx, deps, account, code)) return 'totp'
  return (await spendRecoveryCode(tx, deps, account, code)) ? 'recovery' : undefined
}

/** Replaces the recovery codes of an account; only hashes are kept. */
export async function replaceRecoveryCodes(tx: Tx, accountId: string, codes: readonly string[]): Promise<void> {
  await tx.deleteFrom('admin_recovery_codes').where('account_id', '=', accountId).execute()
  if (codes.length === 0) return
  await tx
    .insertInto('admin_recovery_codes')
    .values(codes.map((code) => ({ account_id: accountId, hash: recoveryHash(accountId, code), used_at: null })))
    .execute()
}

/** Takes the second factor away, and what belongs to it. */
export async function clearTotp(tx: Tx, accountId: string): Promise<void> {
  await tx
    .updateTable('admin_accounts')
    .set({ totp_secret: null, totp_confirmed_at: null, totp_step: null })
    .where('id', '=', accountId)
    .execute()
  await replaceRecoveryCodes(tx, accountId, [])
}
