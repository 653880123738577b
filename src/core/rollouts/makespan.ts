/** One box's turn: how long it keeps a worker, and which host it keeps busy. */
export type Turn = Readonly<{ hostId: string; slug: string; expectedMs: number }>

export type Parallelism = Readonly<{ parallel: number; perHost: number }>

/** The longest go first, so that no long one is left alone at the end; then by slug. */
export const byTurn = (a: Turn, b: Turn): number => b.expectedMs - a.expectedMs || (a.slug < b.slug ? -1 : 1)

/** The boxes that may start now, given those in flight: hosts with room, at most `parallel` together. `waiting` is in order of turn. */
export function nextTurns<T extends Turn>(waiting: readonly T[], inFlight: readonly { hostId: string }[], limits: Parallelism): T[] {
  const busy = new Map<string, number>()
  for (const { hostId } of inFlight) busy.set(hostId, (busy.get(hostId) ?? 0) + 1)
  const chosen: T[] = []
  for (const turn of waiting) {
    if (inFlight.length + chosen.length >= limits.parallel) break
    const onHost = busy.get(turn.hostId) ?? 0
    if (onHost >= limits.perHost) continue
    busy.set(turn.hostId, onHost + 1)
    chosen.push(turn)
  }
  return chosen
}

/** How long a phase takes when nothing fails: the queue played through. */
export function makespanMs(turns: readonly Turn[], limits: Parallelism): number {
  const waiting = turns.toSorted(byTurn)
  let running: { hostId: string; endMs: number }[] = []
  let nowMs = 0
  for (;;) {
    for (const turn of nextTurns(waiting, running, limits)) {
      running.push({ hostId: turn.hostId, endMs: nowMs + turn.expectedMs })
      waiting.splice(waiting.indexOf(turn), 1)
    }
    if (running.length === 0) return nowMs
    nowMs = Math.min(...running.map(({ endMs }) => endMs))
    running = running.filter(({ endMs }) => endMs > nowMs)
  }
}
