import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { type Db, listenForCommits } from '../db/index.ts'
import type { EventBus } from './event-bus.ts'
import type { EventStreams } from './event-streams.ts'

type Deps = Readonly<{ db: Db; clock: Clock; log: Logger; bus: EventBus; streams: EventStreams }>

/** How often events are looked for that nobody told of. */
const lookMs = 1000
const hearAgainMs = 5000
/** A stream ends within a second of its token. */
const expiryMs = 500
const placesMs = 10_000

/** Moves events from the database to those who listen, until the daemon drains. Hearing makes it quick; looking makes it sure. */
export async function runEvents(deps: Deps, signal: AbortSignal): Promise<void> {
  await Promise.all([keepLooking(deps, signal), keepHearing(deps, signal), keepEnding(deps, signal), keepPlaces(deps, signal)])
}

async function keepLooking({ clock, log, bus }: Deps, signal: AbortSignal): Promise<void> {
  let failing = false
  while (!signal.aborted) {
    try {
      await bus.look()
      failing = false
    } catch (err) {
      if (!failing) log.warn({ err }, 'events cannot be looked for and will be later')
      failing = true
    }
    await clock.sleep(lookMs, signal)
  }
}

async function keepHearing({ db, clock, log, bus }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const hearing = await listenForCommits(db, bus.wake)
      await Promise.race([hearing.ended, aborted(signal)])
      await hearing.close()
    } catch (err) {
      log.warn({ err }, 'events are not heard of at once: they are looked for every second')
    }
    await clock.sleep(hearAgainMs, signal)
  }
}

async function keepEnding({ clock, streams }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    streams.endExpired()
    await clock.sleep(expiryMs, signal)
  }
}

async function keepPlaces({ clock, log, streams }: Deps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await streams.keepPlaces().catch((err) => log.warn({ err }, 'how many event streams are open cannot be told to other daemons'))
    await clock.sleep(placesMs, signal)
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
