import { type Clock, isoNow } from '../../core/kit/index.ts'
import { healthBuckets } from '../../core/modules/index.ts'
import type { Db } from '../db/index.ts'
import { addCounts, type NewRun, trimRuns } from './runs.repo.ts'

/** Runs of an installation that are stored although they were done. */
const kept = 200
/** Runs of an installation that are stored at all: one that always fails must not fill the disk. */
const maxStored = 5_000
const trimEvery = 50

type Counted = Pick<NewRun, 'moduleId' | 'version' | 'status' | 'result'> & Readonly<{ tenantId: string }>

/** Counts runs and deliveries in memory until they are flushed: a run costs no statement for its health. */
export class RunCounts {
  private counts = new Map<string, number>()
  private readonly untrimmed = new Map<string, number>()

  add({ clock }: Readonly<{ clock: Clock }>, { tenantId, moduleId, version, status, result }: Counted): void {
    for (const bucket of healthBuckets({ status, ms: result.ms, violations: result.violations }))
      increment(this.counts, [moduleId, version, isoNow(clock).slice(0, 16), bucket].join(' '), 1)
    increment(this.untrimmed, `${tenantId} ${moduleId}`, 1)
  }

  /** Stores the counts, and deletes older runs of busy installations. Counts that could not be stored are stored with the next flush. */
  async flush({ db }: Readonly<{ db: Db }>): Promise<void> {
    const counts = this.counts
    if (counts.size === 0) return
    this.counts = new Map()
    try {
      await db.transaction().execute((tx) => addCounts(tx, [...counts].sort().map(countOf)))
    } catch (error) {
      for (const [key, count] of counts) increment(this.counts, key, count)
      throw error
    }
    for (const [key, runs] of this.untrimmed) {
      if (runs < trimEvery) continue
      const [tenantId = '', moduleId = ''] = key.split(' ')
      await trimRuns(db, { tenantId, moduleId }, { kept, maxStored })
      this.untrimmed.delete(key)
    }
  }
}

const increment = (counts: Map<string, number>, key: string, by: number) => void counts.set(key, (counts.get(key) ?? 0) + by)

function countOf([key, count]: readonly [string, number]) {
  const [moduleId = '', version = '', minute = '', bucket = ''] = key.split(' ')
  return { moduleId, version, minute, bucket, count }
}
