import { humanTime } from '../../core/alerts/index.ts'
import { type Clock, isProblem } from '../../core/kit/index.ts'
import { type Budgets, type Episode, type EpisodeStep, slowdownFrom, stepEpisode, utilisation } from '../../core/limits/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { type Db, type DbOrTx, holdLease, type Lease, type Tx } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import type { BudgetStore } from './budget-store.ts'
import { tenantsOf } from './busy-tenants.repo.ts'

export type WatchDeps = Readonly<{ db: Db; clock: Clock; store: BudgetStore; budgets: Budgets }>

type Observation = Readonly<{ tenantId: string; slug: string; percent: number; budget: number; step: EpisodeStep }>

/**
 * Raises one alert per episode of ten minutes above 80 % of the budget. Episodes are stored, so that another replica can continue. While the
 * store is unavailable nothing is observed.
 */
export const budgetWatch = (deps: WatchDeps): LeasedLoop => ({
  name: 'watch budgets',
  everyMs: 10_000,
  // Shorter than the gap that ends an episode.
  lease: { name: 'limits.watch', ttlMs: 30_000 },
  run: async ({ lease }) => {
    for (const observation of await observeTenants(deps)) await recordObservation(deps, lease, observation)
  },
})

async function observeTenants({ db, clock, store, budgets }: WatchDeps): Promise<Observation[]> {
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

/** Undefined if the store is unavailable; the store logs that. */
async function busyOf(store: BudgetStore): Promise<ReadonlyMap<string, number> | undefined> {
  try {
    return await store.busy()
  } catch (error) {
    if (isProblem(error, 'UNAVAILABLE')) return undefined
    throw error
  }
}

const recordObservation = ({ db, clock }: WatchDeps, lease: Lease, seen: Observation): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    await saveEpisode(tx, seen.tenantId, seen.step.episode)
    await updateAlerts(tx, clock, seen)
  })

async function updateAlerts(tx: Tx, clock: Clock, { slug, percent, budget, step }: Observation): Promise<void> {
  if (step.raise && step.episode) {
    const since = new Date(step.episode.sinceMs).toISOString()
    await raiseAlert(tx, clock, {
      kind: 'budget_high',
      subject: slug,
      title: `${slug} uses ${Math.floor(percent)} % of its request budget`,
      body:
        `Since ${humanTime(since)} the users of ${slug} have used more than 80 % of the ${budget} requests a minute of its plan.\n` +
        'Above 80 % each request is delayed by up to two seconds; at 100 % requests are refused. Other tenants are not affected. ' +
        'Check for a client that polls in a loop; otherwise the tenant needs a larger plan.',
      command: `tenantry tenants show ${slug}`,
      standing: true,
    })
  }
  if (step.close) await closeAlerts(tx, clock, { subject: slug, kinds: ['budget_high'], because: 'it was below 80 % for a minute' })
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Reads all open episodes by tenant id. */
async function openEpisodes(db: DbOrTx): Promise<Map<string, Episode>> {
  const rows = await db.selectFrom('budget_episodes').selectAll().execute()
  return new Map(
    rows.map(({ tenant_id, since, last_above_at, notified }) => [
      tenant_id,
      { sinceMs: Date.parse(since), lastAboveMs: Date.parse(last_above_at), alerted: notified === 1 },
    ]),
  )
}

async function saveEpisode(tx: Tx, tenantId: string, episode: Episode | undefined): Promise<void> {
  if (!episode) return void (await tx.deleteFrom('budget_episodes').where('tenant_id', '=', tenantId).execute())
  const columns = { since: isoOf(episode.sinceMs), last_above_at: isoOf(episode.lastAboveMs), notified: episode.alerted ? 1 : 0 }
  await tx
    .insertInto('budget_episodes')
    .values({ tenant_id: tenantId, ...columns })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(columns))
    .execute()
}
