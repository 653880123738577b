import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, inBatches } from '../db/index.ts'
import type { InstallationRecord } from './installations.repo.ts'
import { runnable } from './listeners.repo.ts'
import { checkMs } from './runnable.ts'

/** Aborts `stale` once the installation may not run as it did, until the returned function is called. */
export type WatchRunnable = (installation: InstallationRecord, stale: AbortController) => () => void

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger }>

const changed = () =>
  problem('CONFLICT', 'The module was changed, paused or withdrawn meanwhile. fix: read the installation, then repeat the request')

const keyOf = ({ tenantId, moduleId }: Pick<InstallationRecord, 'tenantId' | 'moduleId'>): string => `${tenantId} ${moduleId}`

/**
 * Watches the work in progress of all tenants with one statement for hundreds of them: a service that does not answer has thousands of requests
 * waiting. Work that ends before the next check costs none.
 */
export function watchRunnable({ db, clock, log }: Deps): WatchRunnable {
  const watched = new Map<AbortController, InstallationRecord>()
  let isPolling = false
  const check = async () => {
    const all = [...watched]
    const generations = new Map<string, number>()
    for (const tenants of inBatches([...new Set(all.map(([, { tenantId }]) => tenantId))])) {
      const rows = await runnable(db, isoNow(clock))
        .where('one.tenant_id', 'in', tenants)
        .select(['one.tenant_id', 'one.module_id', 'one.generation'])
        .execute()
      for (const row of rows) generations.set(keyOf({ tenantId: row.tenant_id, moduleId: row.module_id }), row.generation)
    }
    for (const [stale, one] of all) if (generations.get(keyOf(one)) !== one.generation) stale.abort(changed())
  }
  const poll = async () => {
    isPolling = true
    while (watched.size > 0) {
      await clock.sleep(checkMs)
      if (watched.size > 0) await check().catch((err) => log.warn({ err }, 'runs of modules were not checked'))
    }
    isPolling = false
  }
  return (installation, stale) => {
    watched.set(stale, installation)
    if (!isPolling) void poll()
    return () => void watched.delete(stale)
  }
}
