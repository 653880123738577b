/** Integer cents of a currency with two decimals. */
export type Money = Readonly<{ cents: number; currency: string }>

/** One sum for each currency: amounts of two are never added. */
export function sumsOf(amounts: readonly Money[]): Money[] {
  const byCurrency = new Map<string, number>()
  for (const { cents, currency } of amounts) byCurrency.set(currency, (byCurrency.get(currency) ?? 0) + cents)
  return [...byCurrency].map(([currency, cents]) => ({ cents, currency })).sort((a, b) => (a.currency < b.currency ? -1 : 1))
}

/** `12.30 EUR` */
export const moneyText = ({ cents, currency }: Money): string => {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)} ${currency.toUpperCase()}`
}
