import type { Clock } from '../../core/kit/index.ts'
import { advance, emptyWindow, giveBack, type SlidingWindow, take, windowSeconds } from '../../core/limits/index.ts'
import type { BudgetStore } from './budget-store.ts'

/** Counts within one process, by the monotonic clock. */
export function memoryStore(clock: Clock): BudgetStore {
  const windows = new Map<string, SlidingWindow>()
  let sweptAt = 0
  const now = () => Math.floor(clock.monotonicMs() / 1000)

  const windowOf = (tenantId: string, second: number) => {
    const known = windows.get(tenantId)
    if (known) return known
    const made = emptyWindow(second)
    windows.set(tenantId, made)
    return made
  }
  const busy = () => {
    const second = now()
    const found = new Map<string, number>()
    for (const [tenantId, window] of windows) {
      advance(window, second)
      if (window.total > 0) found.set(tenantId, window.total)
      else windows.delete(tenantId)
    }
    sweptAt = second
    return found
  }

  return {
    name: 'memory',
    take: (tenantId, budget) => {
      const second = now()
      if (second - sweptAt >= windowSeconds) busy()
      return take(windowOf(tenantId, second), second, budget)
    },
    giveBack: (tenantId) => {
      const window = windows.get(tenantId)
      if (window) giveBack(window)
    },
    used: (tenantId) => {
      const window = windows.get(tenantId)
      if (!window) return 0
      advance(window, now())
      return window.total
    },
    busy,
    close: async () => windows.clear(),
  }
}
