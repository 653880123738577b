import type { Clock } from './clock.ts'

type Policy = Readonly<{
  signal: AbortSignal
  /** The pause after attempt `attempt` (from 1), which failed so. */
  pauseMs(attempt: number, error: unknown): number
  /** Throws a failure that ends it. */
  onFailure(error: unknown): void
}>

/** Repeats the act until it succeeds. Throws when the signal aborts. */
export async function retryUntilDone<Value>(
  clock: Pick<Clock, 'sleep'>,
  act: () => Promise<Value>,
  { signal, pauseMs, onFailure }: Policy,
): Promise<Value> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error)
      await clock.sleep(pauseMs(attempt, error), signal)
      signal.throwIfAborted()
    }
  }
}

/** A pause that doubles with each attempt, up to the longest. */
export const doubledMs = (attempt: number, { firstMs, maxMs }: Readonly<{ firstMs: number; maxMs: number }>): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30))
