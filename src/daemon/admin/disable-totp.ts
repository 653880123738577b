import { totpNeeded } from '../../core/admin/index.ts'
import { type AdminActor, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { settleAttempt } from './login-attempts.ts'
import { failed, provePassword } from './prove-password.ts'
import { clearTotp, spendCode } from './totp.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'keyring' | 'totpRequired'>
type Disable = Readonly<{ password: string; totp: string; address: string }>

/** Takes the own second factor away; password and code are needed, and the role must allow it. */
export async function disableTotp(deps: Deps, actor: AdminActor, { password, totp, address }: Disable): Promise<void> {
  const { db, clock, totpRequired } = deps
  const account = await accountById(db, actor.accountId)
  if (!account.totpConfirmed) throw problem('CONFLICT', 'this account has no one-time codes')
  if (totpNeeded(account.role, totpRequired))
    throw problem(
      'CONFLICT',
      `the role ${account.role} needs one-time codes here; for a new phone let \`tenantryd admin reset-totp\` begin anew`,
    )
  const attempt = await provePassword(deps, { name: account.name, password, address, account })
  const done = await db.transaction().execute(async (tx) => {
    if (!(await spendCode(tx, deps, account, totp))) return false
    await settleAttempt(tx, attempt)
    await clearTotp(tx, account.id)
    await recordAudit(tx, clock, { actor, action: 'account.totp-disabled', subject: account.name })
    return true
  })
  if (!done) throw await failed(deps, attempt, account, address)
}
