import { type Clock, isoNow, type Problem, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import type { StoredAccount } from './accounts.repo.ts'
import { type Attempt, reserveAttempt } from './login-attempts.ts'
import { passwordFits } from './passwords.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>
type Proof = Readonly<{ name: string; password: string; address: string; account: StoredAccount | undefined }>

/**
 * The only place where a password is looked at. Every attempt is counted first; unknown, disabled and expired accounts take the path and the
 * time of a wrong password. Throws ACCOUNT_LOCKED or LOGIN_FAILED.
 */
export async function provePassword(deps: Deps, { name, password, address, account }: Proof): Promise<Attempt> {
  const attempt = await reserveAttempt(deps, name, address)
  const now = isoNow(deps.clock)
  const usable = account?.active && (account.initialPasswordExpiresAt === null || account.initialPasswordExpiresAt > now)
  if (await passwordFits(usable ? account.passwordHash : undefined, password)) return attempt
  throw await failed(deps, attempt, account, address)
}

/** What a failed attempt leaves behind: the tenth tells the audit log, with the name only if it is one of ours. */
export async function failed({ db, clock }: Deps, attempt: Attempt, account: StoredAccount | undefined, address: string): Promise<Problem> {
  if (attempt.lastOne) {
    const subject = account ? { subject: account.name } : {}
    await db.transaction().execute(async (tx) => {
      await recordAudit(tx, clock, { actor: { kind: 'system', name: 'login' }, action: 'account.locked', ...subject, data: { address } })
    })
  }
  return problem('LOGIN_FAILED', 'name, password or code is wrong, or the one-time password has expired')
}
