/** Request rate of one client address: `perSecond` on average, `atOnce` in a burst, `buffered` more are delayed. */
export type Spacing = Readonly<{ perSecond: number; atOnce: number; buffered: number }>

/** Accepted after `waitMs`, or refused until `retryAfterSeconds` have passed. Pass `slotMs` to the address's next request. */
export type Slot = Readonly<{ waitMs: number; slotMs: number }> | Readonly<{ retryAfterSeconds: number }>

/**
 * Computes the slot of a request (GCRA). `slotMs` is the time at which all earlier requests are paid for at an even rate. A refused request
 * changes nothing.
 */
export function nextSlot(slotMs: number | undefined, nowMs: number, { perSecond, atOnce, buffered }: Spacing): Slot {
  const gapMs = 1000 / perSecond
  const startMs = Math.max(slotMs ?? nowMs, nowMs)
  const waitMs = Math.max(0, startMs - nowMs - (atOnce - 1) * gapMs)
  const tooLongMs = waitMs - buffered * gapMs
  if (tooLongMs > rounding) return { retryAfterSeconds: Math.max(1, Math.ceil((tooLongMs - rounding) / 1000)) }
  return { waitMs: waitMs < rounding ? 0 : waitMs, slotMs: startMs + gapMs }
}

/** Sums of fractions of milliseconds are not exact. */
const rounding = 1e-3
