import { type Clock, makeWatcher } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { acquireLease, type Db, listenForCommits, releaseOwnLease } from '../db/index.ts'
import type { Loop, Round } from '../feature/index.ts'

export type LoopDeps = Readonly<{ db: Db; clock: Clock; log: Logger; owner: string }>

/** Starts the loops. Each promise resolves once its loop has released its work, after the signal aborted. */
export const runLoops = (deps: LoopDeps, loops: readonly Loop[], signal: AbortSignal): readonly Promise<void>[] =>
  [...loops, watchCommits(deps, loops)].map((loop) => runLoop(deps, loop, signal))

/** A loop that fails each round is logged so often. */
const logEveryMs = 60_000

export async function runLoop(deps: LoopDeps, loop: Loop, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps
  const { name, everyMs } = loop
  const watcher = makeWatcher()
  const stopListening = loop.listen?.(watcher.notify)
  let loggedMs = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    try {
      await runRound(deps, loop, { signal, wake: watcher.notify })
    } catch (err) {
      if (clock.monotonicMs() - loggedMs >= logEveryMs) {
        log.warn({ err, loop: name }, `a loop failed; next attempt in ${everyMs / 1000} s`)
        loggedMs = clock.monotonicMs()
      }
    }
    await watcher.wait(clock, everyMs, signal)
  }
  stopListening?.()
  await endLoop(deps, loop).catch((err) => log.warn({ err, loop: name }, 'a loop did not release its work; its leases will expire'))
}

/** Does nothing while another replica has the lease. */
export async function runRound({ db, clock, owner }: Omit<LoopDeps, 'log'>, loop: Loop, round: Round): Promise<void> {
  if (!loop.lease) return void (await loop.run(round))
  const lease = await acquireLease({ db, clock }, { ...loop.lease, owner })
  if (lease) await loop.run({ ...round, lease })
}

async function endLoop({ db, clock, owner }: LoopDeps, { lease, atEnd }: Loop): Promise<void> {
  try {
    await atEnd?.()
  } finally {
    if (lease) await releaseOwnLease({ db, clock }, { name: lease.name, owner })
  }
}

const reconnectMs = 5000

/** Tells loops of commits, by one connection for all; a round lasts as long as the connection. */
const watchCommits = ({ db }: LoopDeps, loops: readonly Loop[]): Loop => ({
  name: 'watch commits',
  everyMs: reconnectMs,
  run: async ({ signal }) => {
    const subscription = await listenForCommits(db, (topic) => {
      for (const { onCommit } of loops) onCommit?.(topic)
    })
    await Promise.race([subscription.ended, aborted(signal)])
    await subscription.close()
  },
})

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
