import { type AdminActor, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { seal } from '../sealed/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { settleAttempt } from './login-attempts.ts'
import { provePassword } from './prove-password.ts'
import { makeTotpSecret, totpPlace, totpUri } from './totp.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'random' | 'keyring'>

/** A new secret for the authenticator app. It counts for nothing until `confirmTotp`; asking again replaces it. */
export async function enrolTotp(
  deps: Deps,
  actor: AdminActor,
  { password, address }: { password: string; address: string },
): Promise<{ secret: string; uri: string }> {
  const { db, clock, random, keyring } = deps
  const account = await accountById(db, actor.accountId)
  const attempt = await provePassword(deps, { name: account.name, password, address, account })
  const secret = makeTotpSecret(random)
  await db.transaction().execute(async (tx) => {
    const begun = await tx
      .updateTable('admin_accounts')
      .set({ totp_secret: seal(keyring, random, totpPlace(account.id), secret), totp_step: null })
      .where('id', '=', account.id)
      .where('totp_confirmed_at', 'is', null)
      .executeTakeFirst()
    if (begun.numUpdatedRows === 0n) throw problem('CONFLICT', 'one-time codes are set up already: disable them first')
    await settleAttempt(tx, attempt)
    await recordAudit(tx, clock, { actor, action: 'account.totp-begun', subject: account.name })
  })
  return { secret, uri: totpUri(secret, account.name) }
}
