import type { SetupStep } from '../../core/admin/index.ts'
import { type AdminActor, problem, type TokenActor } from '../../core/kit/index.ts'
import { accountById } from './accounts.repo.ts'
import type { AdminDeps } from './deps.ts'
import { stepsOf } from './login.ts'

type Deps = Pick<AdminDeps, 'db' | 'totpRequired'>

/** Who the caller is, until when, and what it still has to set up. */
export async function whoAmI({ db, totpRequired }: Deps, actor: AdminActor | TokenActor) {
  const account = await accountById(db, actor.accountId)
  const isPerson = actor.kind === 'admin'
  const setup: SetupStep[] = isPerson ? stepsOf(account, totpRequired) : []
  return {
    account: { id: account.id, name: account.name, role: actor.role },
    sessionId: isPerson ? actor.sessionId : null,
    token: isPerson ? null : { id: actor.tokenId, name: actor.name },
    expiresAt: await expiryOf(db, actor),
    setup,
    totp: account.totpConfirmed,
  }
}

async function expiryOf(db: Deps['db'], actor: AdminActor | TokenActor): Promise<string> {
  const row =
    actor.kind === 'admin'
      ? await db.selectFrom('admin_sessions').select('expires_at').where('id', '=', actor.sessionId).executeTakeFirst()
      : await db.selectFrom('api_tokens').select('expires_at').where('id', '=', actor.tokenId).executeTakeFirst()
  if (!row) throw problem('UNAUTHENTICATED', 'the session or token has just ended: log in again')
  return row.expires_at
}
