import type { Clock } from '../../core/kit/index.ts'

type Deps = Readonly<{ clock: Clock; deadlineMs: number; closed: AbortSignal; late: () => void }>

/** One call that was not answered yet. */
type Pending = Readonly<{ sinceMs: number; fail: () => void }>

/** Calls under way, oldest first. */
type PendingCalls = Readonly<{
  add(fail: () => void): Pending
  /** False when it was given up before. */
  settle(one: Pending): boolean
  failAll(): void
}>

/** An answer may lie unread in the socket while this process was busy itself. */
const graceMs = 20

/** Calls under way and the one timer for all of them: the oldest is looked at when its time is up. */
export function pendingCalls({ clock, deadlineMs, closed, late }: Deps): PendingCalls {
  const pending = new Set<Pending>()
  let isWatching = false
  const watch = async () => {
    isWatching = true
    for (let [oldest] = pending; oldest && !closed.aborted; [oldest] = pending) {
      const leftMs = oldest.sinceMs + deadlineMs - clock.monotonicMs()
      await clock.sleep(Math.max(leftMs, graceMs), closed)
      if (leftMs <= 0 && pending.has(oldest) && !closed.aborted) late()
    }
    isWatching = false
  }
  return {
    add: (fail) => {
      const one = { sinceMs: clock.monotonicMs(), fail }
      pending.add(one)
      if (!isWatching) void watch()
      return one
    },
    settle: (one) => pending.delete(one),
    failAll: () => {
      for (const { fail } of pending) fail()
      pending.clear()
    },
  }
}
