import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, listenForCommits } from '../db/index.ts'
import type { EventBus } from './event-bus.ts'
import type { EventStreams } from './event-streams.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; bus: EventBus; streams: EventStreams }>

/** Interval of polling for events without notification. */
const pollMs = 1000
const reconnectMs = 5000
/** A stream ends within a second of its token's expiry. */
const expiryMs = 500
const placesMs = 10_000

/** Publishes events from the database until the daemon drains. Notifications make it fast, polling makes it reliable. */
export async function runEvents(deps: Deps, signal: AbortSignal): Promise<void> {
  await Promise.all([pollEvents(deps, signal), listenForEvents(deps, signal), endExpiredStreams(deps, signal), keepPlaces(deps, signal)])
}

async function pollEvents({ clock, log, bus }: Deps, signal: AbortSignal): Promise<void> {
  let failing = false
  while (!signal.aborted) {
    try {
      await bus.poll()
      failing = false
    } catch (err) {
      if (!failing) log.warn({ err }, 'polling for events failed; retrying')
      failing = true
    }
    await clock.sleep(pollMs, signal)
  }
}

async function listenForEvents({ db, clock, log, bus }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const hearing = await listenForCommits(db, bus.notify)
      await Promise.race([hearing.ended, aborted(signal)])
      await hearing.close()
    } catch (err) {
      log.warn({ err }, 'event notifications unavailable; polling every second')
    }
    await clock.sleep(reconnectMs, signal)
  }
}

async function endExpiredStreams({ clock, streams }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    streams.endExpired()
    await clock.sleep(expiryMs, signal)
  }
}

async function keepPlaces({ clock, log, streams }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await streams.keepPlaces().catch((err) => log.warn({ err }, 'renewing event stream slots failed; retrying'))
    await clock.sleep(placesMs, signal)
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
