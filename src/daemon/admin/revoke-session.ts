import { type AdminActor, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { AdminDeps } from './deps.ts'
import { endSession, openSession } from './sessions.repo.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock' | 'revocations'>

/** Ends a session. Somebody else's needs the role admin; for the others it does not exist. */
export async function revokeSession({ db, clock, revocations }: Deps, actor: AdminActor, { id }: { id: string }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const session = await openSession(tx, clock, id)
    const allowed = session && (session.accountId === actor.accountId || actor.role === 'admin')
    if (!allowed || !(await endSession(tx, clock, id))) throw problem('NOT_FOUND', `there is no open session ${id}`)
    await recordAudit(tx, clock, { actor, action: 'session.revoked', subject: id, data: { account: session.accountName } })
  })
  await revocations.readNow()
}
