import type { Clock } from '../../core/kit/index.ts'
import { networkKey, nextTurn, type Spacing, type Turn } from '../../core/limits/index.ts'

/** So many addresses are remembered; who brings more is an attack, and those that came first are forgotten. */
const mostAddresses = 100_000
const sweepEveryMs = 1000

/** When the next request of each client address has its turn; an IPv6 client is its /64 (SECURITY, Inputs). */
export function addressTurns(clock: Clock, spacing: Spacing): (address: string) => Turn {
  const turns = new Map<string, number>()
  let sweptMs = clock.monotonicMs()
  const sweep = (nowMs: number) => {
    sweptMs = nowMs
    for (const [other, turnMs] of turns) if (turnMs <= nowMs) turns.delete(other)
  }
  return (address) => {
    const [key, nowMs] = [networkKey(address), clock.monotonicMs()]
    if (nowMs - sweptMs >= sweepEveryMs) sweep(nowMs)
    const turn = nextTurn(turns.get(key), nowMs, spacing)
    if ('turnMs' in turn) turns.set(key, turn.turnMs)
    if (turns.size > mostAddresses) turns.delete(turns.keys().next().value as string)
    return turn
  }
}
