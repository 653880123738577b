import { timingSafeEqual } from 'node:crypto'
import { type AdminActor, type Clock, problem, type Secret, sha256Hex } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { Db } from '../../db/index.ts'
import { forgetTries, refuseLocked, reserveTry } from './approval-failures.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; approvalTokenSha256: string | undefined }>

/**
 * Throws RATE_LIMITED for an account that tried too often, CONFIG where no token was ever made, AUTH for a wrong one, in this order. The
 * token is only hashed and compared, in a time that says nothing about it.
 */
export async function requireApproval(deps: Deps, actor: AdminActor, token: Secret): Promise<void> {
  const { approvalTokenSha256: wanted } = deps
  if (wanted === undefined) {
    await refuseLocked(deps, actor.accountId)
    throw problem(
      'CONFIG',
      'emergencies are not set up: `tenantryd approval-token` makes the token and says which setting keeps its hash; then restart the daemon',
    )
  }
  await reserveTry(deps, actor.accountId)
  const right = timingSafeEqual(Buffer.from(sha256Hex(token.reveal()), 'hex'), Buffer.from(wanted, 'hex'))
  if (right) return forgetTries(deps, actor.accountId)
  await deps.db.transaction().execute((tx) => recordAudit(tx, deps.clock, { actor, action: 'rollout.emergency.wrong_token' }))
  throw problem(
    'AUTH',
    'the approval token is wrong; whoever keeps it can read it to you, and after five wrong ones this account has to wait',
  )
}
