import { isoNow, problem } from '../../core/kit/index.ts'
import type { Rehearsal, RehearsalRequest, RehearsalSettings } from '../../core/rollouts/index.ts'
import type { RolloutsDeps } from './deps.ts'

/** Below the five minutes after which HTTP clients time out. */
const maxMs = 4 * 60_000

type Deps = Pick<RolloutsDeps, 'clock' | 'rehearse' | keyof Omit<RehearsalSettings, 'rollouts'> | 'settings'>

/**
 * Runs a rehearsal, which uses a CPU core; the class `rehearsal` has one place. It is aborted with its caller, and after four minutes. Throws UNAVAILABLE
 * on the time limit or where the daemon has no rehearsal worker, and what creating the rollout would throw.
 */
export function rehearsals(deps: Deps): (request: RehearsalRequest, signal: AbortSignal) => Promise<Rehearsal> {
  return async (request, signal) => {
    const { clock, rehearse } = deps
    if (!rehearse)
      throw problem('UNAVAILABLE', 'this daemon has no rehearsal worker. fix: rehearse against a daemon started with `tenantryd serve`')
    const timeout = new AbortController()
    const ended = AbortSignal.any([signal, timeout.signal])
    void clock.sleep(maxMs, ended).then(() => timeout.abort(tooLong))
    try {
      return await rehearse({ settings: settingsOf(deps), request: request, startIso: isoNow(clock) }, ended)
    } finally {
      timeout.abort()
    }
  }
}

const tooLong = problem(
  'UNAVAILABLE',
  `the rehearsal was aborted after ${maxMs / 60_000} minutes. fix: rehearse fewer boxes (--target) or fewer runs`,
)

const settingsOf = (deps: Deps): RehearsalSettings => {
  const { settings, probe, staleAfterMs, offlineAfterMs, fenceMaxMs, upgrades, fences, snapshots, windows, schemas, migrations } = deps
  const { parallel, perHost, pollMs, actionDeadlineMs, assumedUpdateMs } = settings
  const rollouts = { parallel, perHost, pollMs, actionDeadlineMs, ...(assumedUpdateMs === undefined ? {} : { assumedUpdateMs }) }
  return { rollouts, probe, staleAfterMs, offlineAfterMs, fenceMaxMs, upgrades, fences, snapshots, windows, schemas, migrations }
}
