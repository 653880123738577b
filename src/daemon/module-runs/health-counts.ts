import { isoNow } from '../../core/kit/index.ts'
import { healthBuckets } from '../../core/modules/index.ts'
import { addCounts, type NewRun } from '../modules/index.ts'
import type { ModuleRunsDeps } from './deps.ts'

type Counted = Pick<NewRun, 'moduleId' | 'version' | 'status' | 'result'>

/** Counts runs in memory until they are flushed: a run costs no statement for its health. */
export class HealthCounts {
  private counts = new Map<string, number>()

  /** `at`: ISO 8601. */
  add({ moduleId, version, status, result }: Counted, at: string): void {
    for (const bucket of healthBuckets({ status, ms: result.ms, violations: result.violations })) {
      const key = [moduleId, version, at.slice(0, 16), bucket].join(' ')
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
    }
  }

  /** Counts that could not be stored are stored with the next flush. */
  async flush({ db }: Pick<ModuleRunsDeps, 'db'>): Promise<void> {
    if (this.counts.size === 0) return
    const counts = this.counts
    this.counts = new Map()
    try {
      await db.transaction().execute((tx) => addCounts(tx, [...counts].sort().map(countOf)))
    } catch (error) {
      for (const [key, count] of counts) this.counts.set(key, (this.counts.get(key) ?? 0) + count)
      throw error
    }
  }
}

function countOf([key, count]: readonly [string, number]) {
  const [moduleId = '', version = '', minute = '', bucket = ''] = key.split(' ')
  return { moduleId, version, minute, bucket, count }
}

export const countRun = ({ counts, clock }: Pick<ModuleRunsDeps, 'counts' | 'clock'>, run: Counted): void => counts.add(run, isoNow(clock))
