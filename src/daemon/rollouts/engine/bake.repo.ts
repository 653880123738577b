import type { VersionsReport } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type Bake, type EngineAction, healthFindings, isInFlight, phaseOf, phaseOrder } from '../../../core/rollouts/index.ts'
import { restartingBoxes } from '../../boxes/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/** The bake of the current phase; undefined unless the phase is complete, and boxes of it were updated and others follow. */
export async function readBake(
  { db, clock }: Pick<RolloutsDeps, 'db' | 'clock'>,
  rollout: StoredRollout,
  actions: readonly EngineAction[],
): Promise<Bake | undefined> {
  const phase = phaseOf(rollout)
  const { gates } = rollout
  if (!phase || (rollout.bakeMs === null && gates.length === 0)) return undefined
  if (actions.some((action) => isInFlight(action.status) || (action.status === 'pending' && action.phase === phase))) return undefined
  const now = isoNow(clock)
  if (rollout.bakeUntil !== null) return { until: rollout.bakeUntil, now, gates, ...(await healthOf({ db, clock }, rollout.id)) }
  const order: readonly string[] = phaseOrder[rollout.kind]
  const later = await phasesWith(db, rollout.id, 'pending')
  const isFollowed = later.some((other) => order.indexOf(other) > order.indexOf(phase))
  if (!isFollowed || !(await phasesWith(db, rollout.id, 'succeeded')).includes(phase)) return undefined
  return { until: null, now, failing: [], isRestarting: false, gates }
}

async function phasesWith(db: DbOrTx, rolloutId: string, status: 'pending' | 'succeeded'): Promise<string[]> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select('phase')
    .distinct()
    .where('rollout_id', '=', rolloutId)
    .where('status', '=', status)
    .execute()
  return rows.map(({ phase }) => phase)
}

/** A box that an operator restarts is evaluated when its restart has ended; until then the bake is not over. */
async function healthOf(
  { db, clock }: Pick<RolloutsDeps, 'db' | 'clock'>,
  rolloutId: string,
): Promise<Pick<Bake, 'failing' | 'isRestarting'>> {
  const restarting = await restartingBoxes(db, clock)
  const failing = (await failingBoxes(db, rolloutId)).filter(({ slug }) => !restarting.has(slug))
  if (restarting.size === 0) return { failing, isRestarting: false }
  const updated = await db
    .selectFrom('rollout_actions')
    .select('slug')
    .where('rollout_id', '=', rolloutId)
    .where('status', '=', 'succeeded')
    .where('slug', 'in', [...restarting])
    .execute()
  return { failing, isRestarting: updated.length > 0 }
}

/** Boxes that the rollout has updated and that have since reported a fault, or have an open critical alert. */
async function failingBoxes(db: DbOrTx, rolloutId: string): Promise<Bake['failing']> {
  const updated = db
    .selectFrom('rollout_actions as action')
    .where('action.rollout_id', '=', rolloutId)
    .where('action.status', '=', 'succeeded')
  const reported = await updated
    .innerJoin('boxes as box', 'box.id', 'action.box_id')
    .select(['action.slug', 'box.last_report', 'box.last_probe'])
    .whereRef('box.reported_at', '>', 'action.finished_at')
    .execute()
  const alerts = await updated
    .innerJoin('alerts as alert', 'alert.subject', 'action.slug')
    .select(['action.slug', 'alert.kind'])
    .where('alert.status', '=', 'open')
    .where('alert.severity', '=', 'critical')
    .whereRef('alert.last_at', '>', 'action.finished_at')
    .execute()
  return [
    ...reported.flatMap(({ slug, last_report, last_probe }) => {
      const report: VersionsReport | null = JSON.parse(last_report ?? 'null')
      const [fault] = healthFindings({ slug, report, probe: JSON.parse(last_probe ?? 'null') })
      return fault ? [{ slug, why: fault.message.replace(/\. fix: .*$/s, '') }] : []
    }),
    ...alerts.map(({ slug, kind }) => ({ slug, why: `alert ${kind}` })),
  ]
}
