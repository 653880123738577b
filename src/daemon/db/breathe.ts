import { performance } from 'node:perf_hooks'
import { setImmediate as breath } from 'node:timers/promises'

/**
 * SQLite answers without waiting, so statement follows statement and nothing else gets its turn: a thousand agents that are woken at once
 * would shut out whoever calls in that second. After this time everybody else is looked at before the next.
 */
const longestMs = 10

let breathedAt = 0

/** Between statements of which there may be many: the connection's driver does it for whoever asks for it anew. Undefined while it is not due. */
export function yieldToEventLoop(): Promise<void> | undefined {
  if (performance.now() - breathedAt < longestMs) return undefined
  return breath().then(() => {
    breathedAt = performance.now()
  })
}
