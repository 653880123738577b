import { isoNow } from '../../core/kit/index.ts'
import type { HostsDeps } from './deps.ts'
import { type Host, markSeen } from './hosts.repo.ts'

type Deps = Pick<HostsDeps, 'db' | 'clock' | 'log'>

const seenEveryMs = 5000
const writeEveryMs = 1000

/**
 * Records when hosts were last seen. The first write is immediate; further ones are batched per second, because 1,000 polling agents would
 * otherwise cause forty commits a second. A crash loses at most that second.
 */
export function trackLastSeen({ db, clock, log }: Deps): (host: Pick<Host, 'id' | 'lastSeenAt'>) => Promise<void> {
  const waiting = new Set<string>()
  let wroteAtMs = Number.NEGATIVE_INFINITY
  let isPlanned = false

  const write = async (ids: readonly string[]) => {
    wroteAtMs = clock.monotonicMs()
    await markSeen(db, ids, isoNow(clock))
  }
  const writeLater = async () => {
    await clock.sleep(writeEveryMs)
    isPlanned = false
    const ids = [...waiting].sort()
    waiting.clear()
    await write(ids).catch((err) => log.debug({ err }, 'recording last-seen times failed'))
  }

  return async ({ id, lastSeenAt }) => {
    const silentMs = lastSeenAt === null ? Number.POSITIVE_INFINITY : clock.now().getTime() - Date.parse(lastSeenAt)
    if (silentMs < seenEveryMs) return
    if (!isPlanned && clock.monotonicMs() - wroteAtMs >= writeEveryMs) return write([id])
    waiting.add(id)
    if (isPlanned) return
    isPlanned = true
    void writeLater()
  }
}
