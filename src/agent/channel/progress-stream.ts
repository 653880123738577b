import type { Progress } from '../../core/boxes/index.ts'
import { channelLimits } from '../../core/hosts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'

export type ProgressStream = Readonly<{
  tell(progress: Omit<Progress, 'at'>): void
  /** Sends what is left, once, and ends. */
  end(): Promise<void>
}>

const everyMs = 1000
const afterFailureMs = 5000

/**
 * Sends steps at most once a second; of what one step says meanwhile, the last word stands. Progress is told, never relied on:
 * while the daemon is away it waits, the oldest steps are dropped when there are too many, and no command fails for it.
 */
export function progressStream(clock: Clock, send: (progress: Progress[]) => Promise<unknown>): ProgressStream {
  let pending: Progress[] = []
  /** The step under way, and when it was first told: what one step says later must not move its beginning. */
  let current: Readonly<{ step: string; since: string }> | undefined
  let pump: Promise<void> | undefined
  const ended = new AbortController()

  const flush = async (): Promise<boolean> => {
    const batch = pending
    pending = []
    if (batch.length === 0) return true
    return send(batch).then(
      () => true,
      () => {
        pending = [...batch, ...pending].slice(-channelLimits.progressPerCall)
        return false
      },
    )
  }
  const run = async () => {
    while (pending.length > 0 && !ended.signal.aborted) await clock.sleep((await flush()) ? everyMs : afterFailureMs, ended.signal)
    pump = undefined
  }
  return {
    tell: (progress) => {
      const at = isoNow(clock)
      if (current?.step !== progress.step) current = { step: progress.step, since: at }
      const since = current.since === at ? {} : { since: current.since }
      const said = { ...progress, ...(progress.detail ? { detail: progress.detail.slice(0, 500) } : {}), at, ...since }
      const kept = pending.at(-1)?.step === said.step ? pending.slice(0, -1) : pending
      pending = [...kept, said].slice(-channelLimits.progressPerCall)
      pump ??= run()
    },
    end: async () => {
      ended.abort()
      await pump
      await flush()
    },
  }
}
