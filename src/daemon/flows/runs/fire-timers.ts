import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { isoNow } from '../../../core/kit/index.ts'
import { dialectOf } from '../../db/index.ts'
import type { Loop } from '../../feature/index.ts'
import { advanceLocked } from './advance-run.ts'
import type { RunsDeps } from './deps.ts'
import { lockFreeRun } from './runs.repo.ts'
import { type DueRun, deleteTimer, runsDue, timersDue } from './timers.repo.ts'

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random' | 'log'>

const atOnce = 1000

/** The time of one run in a round: on SQLite every other request waits for its transaction. Its other timers fire in the next rounds. */
const maxRunMs = 200

/** Fires due timers on every replica; a run that another replica works on is skipped. */
export const timerLoop = (deps: Deps): Loop => ({ name: 'fire timers of runs', everyMs: 500, run: () => fireTimers(deps) })

/**
 * Fires the timers that are due now, each run in a transaction of its own. Returns the number of runs that were stepped. Goes through all due
 * timers, so that runs that cannot be stepped, however many, do not block the others.
 */
export async function fireTimers(deps: Deps): Promise<number> {
  const now = isoNow(deps.clock)
  let fired = 0
  for (let after: DueRun | undefined, isMore = true; isMore; ) {
    const due = await runsDue(deps.db, { now, after, limit: atOnce })
    fired += await fireRuns(deps, due)
    after = due.at(-1)
    isMore = due.length === atOnce
  }
  return fired
}

async function fireRuns(deps: Deps, due: readonly DueRun[]): Promise<number> {
  const queue = new Map(due.map((run) => [run.id, run])).values()
  let fired = 0
  const work = async () => {
    for (const run of queue) {
      const count = await fireRun(deps, run)
      fired += count
    }
  }
  // SQLite has one connection, so more workers would only wait for each other.
  await Promise.all(Array.from({ length: dialectOf(deps.db) === 'postgres' ? 8 : 1 }, work))
  return fired
}

type One = Readonly<{ tenantId: string; id: string }>

/** A run that cannot be stepped keeps its timers, and the others continue. */
async function fireRun(deps: Deps, { tenantId, id }: One): Promise<number> {
  try {
    return await deps.db.transaction().execute(async (tx) => {
      let run = await lockFreeRun(tx, { tenantId, id })
      if (!run) return 0
      const timers = await timersDue(tx, { tenantId, runId: id }, isoNow(deps.clock))
      const begun = deps.clock.monotonicMs()
      for (const { tokenId, name } of timers) {
        const after = await advanceLocked(deps, tx, { run, input: { type: 'timer', tokenId, name } })
        // A token that ended took its timers with it.
        const isGone = after !== run && tokenId !== null && !after.state.tokens.some((token) => token.id === tokenId)
        // A failed run keeps the timer for a retry.
        if (!isGone && !after.state.failure) await deleteTimer(tx, { tenantId, runId: id }, { tokenId, name })
        run = after
        if (run.state.failure || deps.clock.monotonicMs() - begun >= maxRunMs) break
        await yieldToEventLoop()
      }
      return timers.length > 0 ? 1 : 0
    })
  } catch (err) {
    deps.log.warn({ err, runId: id }, 'the timers of a run did not fire; next attempt in 0.5 s')
    return 0
  }
}
