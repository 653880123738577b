import type {
  ActionCounts,
  AuditLine,
  Rollout,
  RolloutAction,
  RolloutAttempt,
  RolloutDetail,
  RolloutSummary,
} from '../../core/rollouts/index.ts'
import { entriesAfter, headOf } from '../audit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { actionBySlug, actionsOf, countActions, publicAction } from './actions.repo.ts'
import { attemptsOf } from './attempts.repo.ts'
import { planOf } from './plans.repo.ts'
import { rolloutById, type StoredRollout } from './rollouts.repo.ts'
import { streamOf } from './tell.ts'
import { waitingUntil } from './waiting-until.repo.ts'

type Deps = Readonly<{ db: Db }>

/** The newest lines of a chain that an answer carries; `tenantry audit list` has all. */
const auditLines = 1000

export function summaryOf(stored: StoredRollout, counts: ActionCounts, waitingUntil: string | null): RolloutSummary {
  const { manifest, digests, skipRefused, ...summary } = stored
  return { ...summary, counts, waitingUntil }
}

/** The whole record, counts and audit log with it. */
export async function describeRollout(db: DbOrTx, stored: StoredRollout): Promise<Rollout> {
  const counts = await countActions(db, [stored.id])
  const waits = await waitingUntil(db, [stored], counts)
  const { manifest, digests, skipRefused } = stored
  return {
    ...summaryOf(stored, counts(stored.id), waits(stored.id)),
    targets: manifest.tiers,
    digests,
    skipRefused,
    auditLog: await auditLogOf(db, stored.id),
  }
}

async function auditLogOf(db: DbOrTx, rolloutId: string): Promise<AuditLine[]> {
  const chain = streamOf(rolloutId)
  const { seq } = await headOf(db, chain)
  const entries = await entriesAfter(db, chain, seq - auditLines, auditLines)
  return entries.map(({ seq, at, actor, action, subject, data, hash }) => {
    return { seq, at, actor, action, subject, data: data as AuditLine['data'], hash }
  })
}

/** With plan and all actions. Throws NOT_FOUND. */
export async function showRollout({ db }: Deps, id: string): Promise<RolloutDetail> {
  // Read first: what happens while the rest is read is told again by the stream, never left out.
  const lastEventId = await lastEventOf(db, id)
  const stored = await rolloutById(db, id)
  const actions = (await actionsOf(db, id)).map(publicAction)
  return { ...(await describeRollout(db, stored)), plan: await planOf(db, id), actions, lastEventId }
}

async function lastEventOf(db: DbOrTx, id: string): Promise<string> {
  const row = await db.selectFrom('streams').select('seq').where('stream', '=', streamOf(id)).executeTakeFirst()
  return String(row?.seq ?? 0)
}

/** One tenant's action with the evidence of all its attempts. Throws NOT_FOUND. */
export async function showAction(
  { db }: Deps,
  { id, slug }: { id: string; slug: string },
): Promise<{ action: RolloutAction; attempts: RolloutAttempt[] }> {
  await rolloutById(db, id)
  const action = await actionBySlug(db, id, slug)
  return { action: publicAction(action), attempts: await attemptsOf(db, action.id) }
}
