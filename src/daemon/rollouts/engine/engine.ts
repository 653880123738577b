import { isProblem } from '../../../core/kit/index.ts'
import { acquireLease, type Lease, releaseLease } from '../../db/index.ts'
import type { RolloutsNeeds } from '../needs.ts'
import type { Watcher } from '../rollout-bus.ts'
import { rolloutsToDrive } from '../rollouts.repo.ts'
import { streamOf } from '../tell.ts'
import { round, type WaitedFor } from './round.ts'

/** After this without a word from its owner a rollout is taken over by another replica. */
const shortestLeaseMs = 30_000

/** A bound on what one look at a rollout may set off, so that none of them starves the others. */
const mostRounds = 50

/** Agents tell several things within a moment: they are looked at together. */
const togetherMs = 20

export type RolloutEngine = Readonly<{
  /** Brings every rollout that this replica owns, or can take, as far as it goes now; answers the commands it waits for. */
  tick(signal: AbortSignal): Promise<readonly WaitedFor[]>
  /** Gives the leases back, so that another replica need not wait for their end. */
  handBack(): Promise<void>
}>

type HeldLease = Readonly<{ lease: Lease; takenMs: number }>

/** All that the engine remembers is which leases it holds: killed at any point, the next one goes on from the database. */
export function makeRolloutEngine(needs: RolloutsNeeds, lookAgain: () => void = () => undefined): RolloutEngine {
  const { db, clock, log, holder, settings } = needs
  const leases = new Map<string, HeldLease>()
  const ttlMs = Math.max(shortestLeaseMs, settings.pollMs * 4)

  /** Ours until its end: it is taken anew long before, and not at every look, of which there are many a second. */
  const own = async (rolloutId: string): Promise<Lease | undefined> => {
    const held = leases.get(rolloutId)
    const nowMs = clock.monotonicMs()
    if (held && nowMs - held.takenMs < ttlMs / 4) return held.lease
    const lease = await acquireLease({ db, clock }, { name: streamOf(rolloutId), holder, ttlMs })
    if (lease) leases.set(rolloutId, { lease, takenMs: nowMs })
    else leases.delete(rolloutId)
    return lease
  }

  const drive = async (rolloutId: string, signal: AbortSignal): Promise<readonly WaitedFor[]> => {
    const lease = await own(rolloutId)
    if (!lease) return []
    for (let rounds = 1; ; rounds++) {
      const { goesOn, waitingFor } = await round({ needs, lease, rolloutId }, signal)
      if (goesOn && rounds < mostRounds && !signal.aborted) continue
      if (goesOn) lookAgain() // the others have their turn first
      return waitingFor
    }
  }

  const release = async (rolloutId: string, lease: Lease) => {
    leases.delete(rolloutId)
    await releaseLease({ db, clock }, lease)
  }

  const tick = async (signal: AbortSignal) => {
    const wanted = await rolloutsToDrive(db)
    for (const [id, { lease }] of leases) if (!wanted.includes(id)) await release(id, lease)
    const waitingFor: WaitedFor[] = []
    for (const id of wanted) {
      if (signal.aborted) break
      try {
        waitingFor.push(...(await drive(id, signal)))
      } catch (error) {
        if (isProblem(error, 'LEASE_LOST')) leases.delete(id)
        log.warn({ rolloutId: id, err: error }, 'a rollout could not be driven and will be looked at again')
      }
    }
    return waitingFor
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
export async function startRolloutEngine(needs: RolloutsNeeds, signal: AbortSignal): Promise<void> {
  const { clock, log, rolloutBus, settings } = needs
  const watcher = rolloutBus.watch()
  // What the engine itself has done it knows: it looks again for what others did.
  const ours = { ...rolloutBus, changed: (id: string) => rolloutBus.changed(id, watcher) }
  const engine = makeRolloutEngine({ ...needs, rolloutBus: ours }, watcher.wake)
  try {
    while (!signal.aborted) {
      const waitingFor = await engine.tick(signal).catch((err) => {
        log.warn({ err }, 'rollouts could not be looked at and will be again')
        return []
      })
      const stopListening = listen(needs, waitingFor, watcher)
      await clock.sleep(togetherMs, signal)
      await watcher.wait(clock, settings.pollMs, signal)
      stopListening()
    }
  } finally {
    watcher.close()
    await engine.handBack().catch((err) => log.warn({ err }, 'the leases of rollouts were not handed back and will run out'))
  }
}

function listen({ bus }: Pick<RolloutsNeeds, 'bus'>, commands: readonly WaitedFor[], watcher: Watcher): () => void {
  const waitings = commands.map(({ id, revision }) => bus.untilChanged(id, revision))
  for (const { woken } of waitings) void woken.then(watcher.wake)
  return () => {
    for (const { cancel } of waitings) cancel()
  }
}
