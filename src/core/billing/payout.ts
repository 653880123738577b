type Earned = Readonly<{ cents: number }>

/** The share of a developer in cents; the fee is rounded as the provider rounds it, and both add up to the gross. */
export function payoutOf(paid: readonly Earned[], { feePercent }: Readonly<{ feePercent: number }>) {
  const grossCents = paid.reduce((sum, { cents }) => sum + cents, 0)
  const feeCents = feeOf(grossCents, feePercent)
  return { grossCents, feeCents, netCents: grossCents - feeCents }
}

/** Rounded as the provider rounds it. */
export const feeOf = (grossCents: number, feePercent: number): number => Math.round((grossCents * Math.round(feePercent * 100)) / 10_000)
