import { isoNow, problem } from '../../core/kit/index.ts'
import type { Rehearsal, RehearsalRequest, RehearsalSettings } from '../../core/rollouts/index.ts'
import type { RolloutsDeps } from './deps.ts'

/** Who asks over HTTP waits five minutes for an answer to begin. */
const longestMs = 4 * 60_000

type Deps = Pick<RolloutsDeps, 'clock' | 'rehearse' | keyof Omit<RehearsalSettings, 'rollouts'> | 'settings'>

/**
 * Rehearsals, one at a time: each takes a core for itself. It ends with its caller, and after four minutes at the latest. Throws CONFLICT
 * while another is played, UNAVAILABLE when it took too long or there is no place for it, and what making the rollout would throw.
 */
export function rehearsals(deps: Deps): (wanted: RehearsalRequest, signal: AbortSignal) => Promise<Rehearsal> {
  let playing = false
  return async (wanted, signal) => {
    const { clock, rehearse } = deps
    if (!rehearse) throw problem('UNAVAILABLE', 'this daemon was started without a place for rehearsals: `tenantryd serve` has one')
    if (playing) throw problem('CONFLICT', 'a rehearsal is being played already: wait for its end, or end it where it was asked for')
    playing = true
    const over = new AbortController()
    const ended = AbortSignal.any([signal, over.signal])
    void clock.sleep(longestMs, ended).then(() => over.abort(tooLong))
    try {
      return await rehearse({ settings: settingsOf(deps), wanted, startIso: isoNow(clock) }, ended)
    } finally {
      playing = false
      over.abort()
    }
  }
}

const tooLong = problem(
  'UNAVAILABLE',
  `the rehearsal took longer than ${longestMs / 60_000} minutes and was ended: name fewer boxes (--target), or ask for fewer runs`,
)

const settingsOf = (deps: Deps): RehearsalSettings => {
  const { settings, probe, staleAfterMs, offlineAfterMs, fenceMaxMs, windows, schemas, migrations, daemonVersion } = deps
  const { parallel, perHost, pollMs, actionDeadlineMs } = settings
  const rollouts = { parallel, perHost, pollMs, actionDeadlineMs }
  return { rollouts, probe, staleAfterMs, offlineAfterMs, fenceMaxMs, windows, schemas, migrations, daemonVersion }
}
