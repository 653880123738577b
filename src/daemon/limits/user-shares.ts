import type { Clock } from '../../core/kit/index.ts'

/** Requests of members in the last minute, counted by this daemon alone. */
export type UserShares = Readonly<{
  /** Counts one request. `own`: requests of the user, with this one; `isAlone`: no other member of the tenant sent one. */
  count(tenantId: string, userId: string): Readonly<{ own: number; isAlone: boolean }>
}>

type Counts = Map<string, Map<string, number>>

const minuteMs = 60_000

/** The part of the last minute that is still in the window counts as if its requests had come evenly. */
export function userShares(clock: Clock): UserShares {
  let [minute, now, before]: [number, Counts, Counts] = [0, new Map(), new Map()]
  const turn = (current: number) => {
    before = current === minute + 1 ? now : new Map()
    now = new Map()
    minute = current
  }
  return {
    count: (tenantId, userId) => {
      const ms = clock.monotonicMs()
      const current = Math.floor(ms / minuteMs)
      if (current !== minute) turn(current)
      const [users, former] = [now.get(tenantId) ?? new Map<string, number>(), before.get(tenantId)]
      now.set(tenantId, users)
      const count = (users.get(userId) ?? 0) + 1
      users.set(userId, count)
      const own = count + (former?.get(userId) ?? 0) * (1 - (ms % minuteMs) / minuteMs)
      const others = (members: ReadonlyMap<string, number> | undefined) =>
        members !== undefined && members.size > Number(members.has(userId))
      return { own, isAlone: !others(users) && !others(former) }
    },
  }
}
