import type { Clock } from '../../src/core/kit/index.ts'
import { openRevocations, type Revocations, revocationLoop } from '../../src/daemon/auth/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { Loop } from '../../src/daemon/feature/index.ts'
import { type LoopDeps, runLoop, runRound } from '../../src/daemon/work/index.ts'
import { silentLogger } from '../../src/node/index.ts'

/** Runs a round of a loop each time it is called, as the replica `owner`. */
export const roundsOf = (deps: Omit<LoopDeps, 'log'>, loop: Loop) => (): Promise<void> =>
  runRound(deps, loop, { signal: new AbortController().signal, wake: () => undefined })

/** What was revoked, read on until the signal aborts. */
export async function watchedRevocations(deps: Readonly<{ db: Db; clock: Clock }>, signal: AbortSignal): Promise<Revocations> {
  const revocations = await openRevocations(deps)
  void runLoop({ ...deps, log: silentLogger(), owner: 'test' }, revocationLoop(revocations), signal)
  return revocations
}
