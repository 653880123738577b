import { isProblem } from '../../../core/kit/index.ts'
import { acquireLease, type Lease, releaseLease } from '../../db/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import { rolloutsToDrive } from '../rollouts.repo.ts'
import { streamOf } from '../tell.ts'
import { round, type WaitedFor } from './round.ts'
import { makeWaited } from './waited.ts'

/** After this without a word from its owner a rollout is taken over by another replica. */
const shortestLeaseMs = 30_000

/** A bound on what one look at a rollout may set off, so that none of them starves the others. */
const mostRounds = 50

/** Agents tell several things within a moment: they are looked at together. */
const togetherMs = 20

/** Of each rollout that was looked at the commands it waits for. */
type Looked = ReadonlyMap<string, readonly WaitedFor[]>

export type RolloutEngine = Readonly<{
  /**
   * Brings every rollout that this replica owns, or can take, as far as it goes now; answers the commands it waits for. With `only` none but
   * these: which others there are to drive is then not asked.
   */
  tick(signal: AbortSignal, only?: readonly string[]): Promise<Looked>
  /** Gives the leases back, so that another replica need not wait for their end. */
  handBack(): Promise<void>
}>

type HeldLease = Readonly<{ lease: Lease; takenMs: number }>

/** All that the engine remembers is which leases it holds: killed at any point, the next one goes on from the database. */
export function makeRolloutEngine(deps: RolloutsDeps, lookAgain: () => void = () => undefined): RolloutEngine {
  const { db, clock, log, holder, settings } = deps
  const leases = new Map<string, HeldLease>()
  const ttlMs = Math.max(shortestLeaseMs, settings.pollMs * 4)

  /** Ours until its end: it is taken anew long before, and not at every look, of which there are many a second. */
  const own = async (rolloutId: string): Promise<Lease | undefined> => {
    const held = leases.get(rolloutId)
    const nowMs = clock.monotonicMs()
    if (held && nowMs - held.takenMs < ttlMs / 4) return held.lease
    const lease = await acquireLease({ db, clock }, { name: streamOf(rolloutId), owner: holder, ttlMs })
    if (lease) leases.set(rolloutId, { lease, takenMs: nowMs })
    else leases.delete(rolloutId)
    return lease
  }

  const drive = async (rolloutId: string, signal: AbortSignal): Promise<readonly WaitedFor[]> => {
    const lease = await own(rolloutId)
    if (!lease) return []
    for (let rounds = 1; ; rounds++) {
      const { goesOn, waitingFor } = await round({ deps, lease, rolloutId }, signal)
      if (goesOn && rounds < mostRounds && !signal.aborted) continue
      if (goesOn) lookAgain() // the others have their turn first
      return waitingFor
    }
  }

  const release = async (rolloutId: string, lease: Lease) => {
    leases.delete(rolloutId)
    await releaseLease({ db, clock }, lease)
  }

  const toDrive = async () => {
    const wanted = await rolloutsToDrive(db)
    for (const [id, { lease }] of leases) if (!wanted.includes(id)) await release(id, lease)
    return wanted
  }

  const tick = async (signal: AbortSignal, only?: readonly string[]) => {
    const looked = new Map<string, readonly WaitedFor[]>()
    for (const id of only ?? (await toDrive())) {
      if (signal.aborted) break
      try {
        looked.set(id, await drive(id, signal))
      } catch (error) {
        if (isProblem(error, 'LEASE_LOST')) leases.delete(id)
        log.warn({ rolloutId: id, err: error }, 'a rollout could not be driven and will be looked at again')
      }
    }
    return looked
  }

  return {
    tick,
    handBack: async () => {
      for (const [id, { lease }] of leases) await release(id, lease)
    },
  }
}

/**
 * Drives rollouts until the signal aborts: looks every `pollMs` and a moment after a command or a rollout changed in this process. Any number
 * of replicas may run it; each rollout has one owner. Resolves once the leases are handed back.
 */
export async function startRolloutEngine(deps: RolloutsDeps, signal: AbortSignal): Promise<void> {
  const { clock, log, rolloutBus, settings } = deps
  const watcher = rolloutBus.watch()
  // What the engine itself has done it knows: it looks again for what others did.
  const ours = { ...rolloutBus, changed: (id: string) => rolloutBus.changed(id, watcher) }
  const engine = makeRolloutEngine({ ...deps, rolloutBus: ours }, watcher.wake)
  const waited = makeWaited(deps.bus, watcher)
  let [only, askedMs]: [readonly string[] | undefined, number] = [undefined, clock.monotonicMs()]
  try {
    while (!signal.aborted) {
      waited.forget(only)
      const looked = await engine.tick(signal, only).catch((err) => {
        log.warn({ err }, 'rollouts could not be looked at and will be again')
        return new Map<string, readonly WaitedFor[]>()
      })
      waited.listen(looked)
      await clock.sleep(togetherMs, signal)
      const isWoken = await watcher.wait(clock, Math.max(0, askedMs + settings.pollMs - clock.monotonicMs()), signal)
      // A command that was answered says which rollout goes on; that there are others to drive, or that one is over, it does not.
      const isDue = isWoken || clock.monotonicMs() - askedMs >= settings.pollMs
      if (isDue) askedMs = clock.monotonicMs()
      only = isDue ? undefined : waited.answered()
    }
  } finally {
    watcher.close()
    await engine.handBack().catch((err) => log.warn({ err }, 'the leases of rollouts were not handed back and will run out'))
  }
}
