import type { Clock } from '../../core/kit/index.ts'

/** With the half second in which replicas learn of what was revoked, a stream or a download ends within a second. */
export const knownForMs = 250

/**
 * Asks again and again, from memory mostly, whether whoever opened a stream or a download may still have it: until their session, token or role has
 * ended, or nobody can say. The client comes back, if it still may.
 */
export async function keepStanding(
  clock: Clock,
  stands: () => Promise<unknown>,
  stream: Readonly<{ signal: AbortSignal; end: () => void }>,
) {
  const { signal, end } = stream
  while (!signal.aborted) {
    await clock.sleep(knownForMs, signal)
    if (signal.aborted) return
    try {
      await stands()
    } catch {
      return end()
    }
  }
}
