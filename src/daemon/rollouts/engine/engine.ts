import { isProblem } from '../../../core/kit/index.ts'
import { acquireLease, type Lease, releaseLease } from '../../db/index.ts'
import type { Loop } from '../../feature/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import { rolloutsToRun } from '../open-rollouts.repo.ts'
import { streamOf } from '../publish.ts'
import type { AwaitedCommand } from './observe.ts'
import { runRollout } from './run-rollout.ts'

// How a rollout moves, in reading order: this loop → run-rollout (observe, plan, execute) → observe → core's planSteps → execute-step →
// the file of the step. Killed at any point, the next engine continues from the database: leases are all that this one remembers.

/** A replica that does not renew its lease for this long loses the rollout to another. */
const minLeaseMs = 30_000

/** Agents answer in bursts: the engine waits this long for more before the next tick. */
const burstMs = 20

export type RolloutEngine = Readonly<{
  /** Takes every rollout that this replica owns, or can take, as far as it goes now. Answers the commands they wait for. */
  tick(signal: AbortSignal): Promise<readonly AwaitedCommand[]>
  /** Releases the leases, so that another replica need not wait until they expire. */
  releaseLeases(): Promise<void>
}>

type OwnedLease = Readonly<{ lease: Lease; renewedMs: number }>

export function makeRolloutEngine(deps: RolloutsDeps): RolloutEngine {
  const { db, clock, log, owner, settings } = deps
  const leases = new Map<string, OwnedLease>()
  const ttlMs = Math.max(minLeaseMs, settings.pollMs * 4)

  /** Undefined while another replica owns the rollout. Renewed after a quarter of its time, and not at every tick. */
  const leaseOf = async (rolloutId: string): Promise<Lease | undefined> => {
    const owned = leases.get(rolloutId)
    const nowMs = clock.monotonicMs()
    if (owned && nowMs - owned.renewedMs < ttlMs / 4) return owned.lease
    const lease = await acquireLease({ db, clock }, { name: streamOf(rolloutId), owner, ttlMs })
    if (lease) leases.set(rolloutId, { lease, renewedMs: nowMs })
    else leases.delete(rolloutId)
    return lease
  }

  const release = async (rolloutId: string, lease: Lease) => {
    leases.delete(rolloutId)
    await releaseLease({ db, clock }, lease)
  }

  const tick = async (signal: AbortSignal) => {
    const rolloutIds = await rolloutsToRun(db)
    for (const [id, { lease }] of leases) if (!rolloutIds.includes(id)) await release(id, lease)
    const awaited: AwaitedCommand[] = []
    for (const rolloutId of rolloutIds) {
      if (signal.aborted) break
      try {
        const lease = await leaseOf(rolloutId)
        if (lease) awaited.push(...(await runRollout({ deps, lease, rolloutId }, signal)))
      } catch (error) {
        if (isProblem(error, 'LEASE_LOST')) leases.delete(rolloutId)
        log.warn({ rolloutId, err: error }, 'a rollout stopped on an error and is retried at the next tick')
      }
    }
    return awaited
  }

  return {
    tick,
    releaseLeases: async () => {
      for (const [id, { lease }] of leases) await release(id, lease)
    },
  }
}

/**
 * Runs rollouts: every `pollMs`, and shortly after a command or a rollout changed in this process. Any number of replicas may do so; each
 * rollout has one owner.
 */
export function rolloutLoop(deps: RolloutsDeps): Loop {
  const engine = makeRolloutEngine(deps)
  let stopListening = (): void => undefined
  return {
    name: 'run rollouts',
    everyMs: deps.settings.pollMs,
    listen: deps.rolloutBus.listen,
    run: async ({ signal, wake }) => {
      stopListening()
      stopListening = listenToCommands(deps, await engine.tick(signal), wake)
      await deps.clock.sleep(burstMs, signal)
    },
    atEnd: () => {
      stopListening()
      return engine.releaseLeases()
    },
  }
}

/** Calls `wake` once any of the commands changes. Returns how to stop. */
function listenToCommands({ bus }: RolloutsDeps, commands: readonly AwaitedCommand[], wake: () => void): () => void {
  const waits = commands.map(({ id, revision }) => bus.untilChanged(id, revision))
  for (const { notified } of waits) void notified.then(wake)
  return () => {
    for (const { cancel } of waits) cancel()
  }
}
