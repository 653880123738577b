import { isoNow } from '../../core/kit/index.ts'
import type { HostsDeps } from './deps.ts'
import { type Host, markSeen } from './host.repo.ts'

type Deps = Pick<HostsDeps, 'db' | 'clock' | 'log'>

/** Calls come often; the row need not be written at each. */
const seenEveryMs = 5000
const writeEveryMs = 1000

/**
 * Notes that a host was heard of. The first is written at once; what comes in the second after is written together at its end, for a thousand
 * polling agents would otherwise be forty commits a second, each of which waits for the disk. A daemon that dies loses that second.
 */
export function sightings({ db, clock, log }: Deps): (host: Pick<Host, 'id' | 'lastSeenAt'>) => Promise<void> {
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
    await write(ids).catch((err) => log.debug({ err }, 'it was not noted who was heard of'))
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
