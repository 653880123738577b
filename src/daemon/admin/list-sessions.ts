import { type AdminActor, problem } from '../../core/kit/index.ts'
import type { AdminDeps } from './deps.ts'
import { listOpenSessions } from './sessions.repo.ts'

type Deps = Pick<AdminDeps, 'db' | 'clock'>

/** The own open sessions, or those of all for the role admin. */
export async function listSessions({ db, clock }: Deps, actor: AdminActor, { all }: { all: boolean }) {
  if (all && actor.role !== 'admin')
    throw problem('FORBIDDEN', `the sessions of others need the role admin; ${actor.name} is ${actor.role}`)
  const sessions = await listOpenSessions(db, clock, all ? undefined : actor.accountId)
  return sessions.map((session) => ({ ...session, current: session.id === actor.sessionId }))
}
