import { type Clock, problem } from '../../core/kit/index.ts'
import { networkKey, nextSlot, type Slot, type Spacing } from '../../core/limits/index.ts'

/** Limits requests per client address to `perSecond`, with bursts of twice that. Throws RATE_LIMITED. */
export function addressLimit(clock: Clock, perSecond: number): (address: string) => void {
  const slotOf = addressSlots(clock, { perSecond, atOnce: 2 * perSecond, buffered: 0 })
  return (address) => {
    const slot = slotOf(address)
    if (!('slotMs' in slot)) throw problem('RATE_LIMITED', 'Too many requests from this address. Retry in a second.', slot)
  }
}

/** Under attack the oldest addresses are dropped first. */
const maxAddresses = 100_000
const sweepEveryMs = 1000

/** Assigns a slot to the next request of each client address. An IPv6 client is its /64. */
export function addressSlots(clock: Clock, spacing: Spacing): (address: string) => Slot {
  const slots = new Map<string, number>()
  let sweptMs = clock.monotonicMs()
  const sweep = (nowMs: number) => {
    sweptMs = nowMs
    for (const [other, slotMs] of slots) if (slotMs <= nowMs) slots.delete(other)
  }
  return (address) => {
    const [key, nowMs] = [networkKey(address), clock.monotonicMs()]
    if (nowMs - sweptMs >= sweepEveryMs) sweep(nowMs)
    const slot = nextSlot(slots.get(key), nowMs, spacing)
    if ('slotMs' in slot) slots.set(key, slot.slotMs)
    if (slots.size > maxAddresses) slots.delete(slots.keys().next().value as string)
    return slot
  }
}
