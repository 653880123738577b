import { useCallback, useEffect, useState } from 'react'
import { isProblem } from '../../core/kit/index.ts'
import { type BoardState, openBoard, type RolloutDetail, reduce } from '../../core/rollouts/index.ts'
import { api, followStream, now } from '../kit/index.ts'

/** Changes are shown together, at most so often: a rollout of a thousand boxes sends twenty a second. */
const frameMs = 200
const retryMs = 2000

export type Followed = Readonly<{ state: BoardState | undefined; error: unknown; reload(): void }>

/** Follows a rollout live, by the rules of `tenantry rollouts watch`: its record first, then each event exactly once. */
export function useBoard(id: string): Followed {
  const [{ state, error }, show] = useState<Readonly<{ state?: BoardState; error?: unknown }>>({})
  const [attempt, setAttempt] = useState(0)
  const reload = useCallback(() => setAttempt((before) => before + 1), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt loads it again
  useEffect(() => {
    const stop = new AbortController()
    void followRollout(id, (next) => !stop.signal.aborted && show(next), stop.signal)
    return () => stop.abort()
  }, [id, attempt])
  return { state: state?.rollout.id === id ? state : undefined, error, reload }
}

type Show = (next: Readonly<{ state?: BoardState; error?: unknown }>) => void

async function followRollout(id: string, show: Show, signal: AbortSignal): Promise<void> {
  const detail = await load(id, show, signal)
  if (!detail) return
  let state = openBoard(detail)
  show({ state })
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    timer = undefined
    show({ state })
  }
  const publish = (message: Parameters<typeof reduce>[1]) => {
    state = reduce(state, message)
    timer ??= setTimeout(flush, frameMs)
  }
  await followStream(
    {
      open: (lastEventId, streamSignal) =>
        api.rollouts.rolloutEvents({ params: { id } }, { signal: streamSignal, lastEventId: lastEventId ?? detail.lastEventId }),
      onMessage: ({ data }) => publish({ kind: 'event', event: data, receivedAtMs: now().getTime() }),
      onState: (stream) => publish({ kind: stream === 'away' ? 'lost' : 'connected' }),
    },
    signal,
  )
  clearTimeout(timer)
}

/** Retries while the daemon is briefly away; another failure is shown. */
async function load(id: string, show: Show, signal: AbortSignal): Promise<RolloutDetail | undefined> {
  while (!signal.aborted) {
    try {
      return await api.rollouts.getRollout({ params: { id } }, { signal })
    } catch (error) {
      if (signal.aborted) return undefined
      show({ error })
      if (!isProblem(error) || !error.retryable) return undefined
      await new Promise((done) => setTimeout(done, retryMs))
    }
  }
  return undefined
}
