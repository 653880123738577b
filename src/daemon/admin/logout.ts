import type { AdminActor } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { AdminDeps } from './deps.ts'
import { endSession } from './sessions.repo.ts'

/** Ends the session that asks. */
export async function logout(
  { db, clock, revocations }: Pick<AdminDeps, 'db' | 'clock' | 'revocations'>,
  actor: AdminActor,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (await endSession(tx, clock, actor.sessionId))
      await recordAudit(tx, clock, { actor, action: 'session.closed', subject: actor.sessionId })
  })
  await revocations.readNow()
}
