/** Integer cents of a currency with two decimals. */
export type Money = Readonly<{ cents: number; currency: string }>

/** `12.30 EUR` */
export const moneyText = ({ cents, currency }: Money): string => {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)} ${currency.toUpperCase()}`
}
