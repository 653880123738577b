/** How often one address may ask: so many a second, a few at once, and so many more that are made to wait for their turn. */
export type Spacing = Readonly<{ perSecond: number; atOnce: number; buffered: number }>

/** Admitted after `waitMs`, or refused until `retryAfterSeconds` have passed. `turnMs` is to be kept for the address's next request. */
export type Turn = Readonly<{ waitMs: number; turnMs: number }> | Readonly<{ retryAfterSeconds: number }>

/**
 * The turn of a request. `turnMs` is when, at an even pace, the requests before it would all have had theirs: what lies ahead of now is a
 * debt. A debt of `atOnce` requests is granted, one of `buffered` more is waited for, beyond that a request is refused and changes nothing.
 */
export function nextTurn(turnMs: number | undefined, nowMs: number, { perSecond, atOnce, buffered }: Spacing): Turn {
  const gapMs = 1000 / perSecond
  const startMs = Math.max(turnMs ?? nowMs, nowMs)
  const waitMs = Math.max(0, startMs - nowMs - (atOnce - 1) * gapMs)
  const tooLongMs = waitMs - buffered * gapMs
  if (tooLongMs > rounding) return { retryAfterSeconds: Math.max(1, Math.ceil((tooLongMs - rounding) / 1000)) }
  return { waitMs: waitMs < rounding ? 0 : waitMs, turnMs: startMs + gapMs }
}

/** Sums of fractions of milliseconds are not exact. */
const rounding = 1e-3
