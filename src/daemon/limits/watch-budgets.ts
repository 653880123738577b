import { alertOf } from '../../core/alerts/index.ts'
import { type Clock, isProblem } from '../../core/kit/index.ts'
import { type Budgets, type Episode, type EpisodeStep, slowdownFrom, stepEpisode, utilisation } from '../../core/limits/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { acquireLease, type Db, holdLease, type Lease, type Tx } from '../db/index.ts'
import type { BudgetStore } from './budget-store.ts'
import { tenantsOf } from './busy-tenants.repo.ts'
import { openEpisodes, saveEpisode } from './episodes.repo.ts'

export type WatchDeps = Readonly<{ db: Db; clock: Clock; store: BudgetStore; budgets: Budgets; holder: string }>

type Seen = Readonly<{ tenantId: string; slug: string; percent: number; budget: number; step: EpisodeStep }>

/** Longer than the time between two looks, so that one replica keeps at it; shorter than what breaks an episode off, once it is gone. */
const leaseMs = 30_000

/**
 * Looks at who is above 80 % of its budget; an operator is told once of an episode that lasts ten minutes. One replica does it, and what
 * it saw is kept in the database, so that another goes on with it. Where the store is away nothing is seen.
 */
export async function watchBudgets(deps: WatchDeps): Promise<void> {
  const lease = await acquireLease(deps, { name: 'limits.watch', owner: deps.holder, ttlMs: leaseMs })
  if (!lease) return
  for (const seen of await lookAtAll(deps)) await note(deps, lease, seen)
}

async function lookAtAll({ db, clock, store, budgets }: WatchDeps): Promise<Seen[]> {
  const busy = await busyOf(store)
  if (!busy) return []
  const episodes = await openEpisodes(db)
  const least = (Math.min(...Object.values(budgets)) * slowdownFrom) / 100
  const candidates = [...busy].filter(([, used]) => used > least).map(([tenantId]) => tenantId)
  const nowMs = clock.now().getTime()
  const tenants = await tenantsOf(db, [...new Set([...candidates, ...episodes.keys()])])
  return tenants.flatMap(({ id, slug, plan }) => {
    const [before, budget]: [Episode | undefined, number] = [episodes.get(id), budgets[plan]]
    const percent = utilisation(busy.get(id) ?? 0, budget)
    const step = stepEpisode(before, percent > slowdownFrom, nowMs)
    return step.episode === before ? [] : [{ tenantId: id, slug, percent, budget, step }]
  })
}

/** Undefined when the store is away, which it says itself. */
async function busyOf(store: BudgetStore): Promise<ReadonlyMap<string, number> | undefined> {
  try {
    return await store.busy()
  } catch (error) {
    if (isProblem(error, 'UNAVAILABLE')) return undefined
    throw error
  }
}

const note = ({ db, clock }: WatchDeps, lease: Lease, seen: Seen): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    await saveEpisode(tx, seen.tenantId, seen.step.episode)
    await tell(tx, clock, seen)
  })

async function tell(tx: Tx, clock: Clock, { slug, percent, budget, step }: Seen): Promise<void> {
  if (step.tell && step.episode) {
    const since = new Date(step.episode.sinceMs).toISOString()
    await raiseAlert(tx, clock, alertOf.budget_high({ slug, percent: Math.floor(percent), budget, since }))
  }
  if (step.over) await closeAlerts(tx, clock, { subject: slug, kinds: ['budget_high'], because: 'it was below 80 % for a minute' })
}
