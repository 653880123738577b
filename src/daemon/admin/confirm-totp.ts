import { type AdminActor, isoNow, problem, randomText } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { grouped } from './passwords.ts'
import { replaceRecoveryCodes, spendTotp } from './totp.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring' | 'revocations'>

const recoveryCodeCount = 10

/** The first code of the app proves that it works; from then on logins need one. The recovery codes are shown this once. */
export async function confirmTotp(deps: Deps, actor: AdminActor, { totp }: { totp: string }): Promise<{ recoveryCodes: string[] }> {
  const { db, clock, random, revocations } = deps
  const recoveryCodes = Array.from({ length: recoveryCodeCount }, () => grouped(randomText(random, 16)))
  await db.transaction().execute(async (tx) => {
    const account = await accountById(tx, actor.accountId)
    if (!account.sealedTotp || account.totpConfirmed) throw problem('CONFLICT', 'there is nothing to confirm: begin with totp/enrol')
    if (!(await spendTotp(tx, deps, account, totp)))
      throw problem('LOGIN_FAILED', 'the code does not fit: is the clock of the phone right? Try the next one')
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
