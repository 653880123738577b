import { trimRuns } from '../modules/index.ts'
import type { ModuleRunsDeps } from './deps.ts'

/** Runs of an installation that are stored although they were done. */
const kept = 200
/** Runs of an installation that are stored at all: one that always fails must not fill the disk. */
const maxStored = 5_000
const trimEvery = 50

type Key = Readonly<{ tenantId: string; moduleId: string }>

/** Deletes older runs now and then, so that a busy module does not fill the table between two clean-ups. */
export class RunTrimmer {
  private readonly counts = new Map<string, number>()

  count({ db, log }: Pick<ModuleRunsDeps, 'db' | 'log'>, { tenantId, moduleId }: Key): void {
    const key = `${tenantId}/${moduleId}`
    const count = (this.counts.get(key) ?? 0) + 1
    this.counts.set(key, count % trimEvery)
    if (count < trimEvery) return
    void trimRuns(db, { tenantId, moduleId }, { kept, maxStored }).catch((err) => log.warn({ err }, 'old runs of modules were not deleted'))
  }
}
