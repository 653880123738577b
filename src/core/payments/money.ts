import { z } from 'zod'

/** Integer cents of a currency with two decimals. */
export type Money = Readonly<{ cents: number; currency: string }>

/** ISO 4217, lower case. Currencies without two decimals are not supported: their smallest unit is not a cent. */
const withoutCents = new Set(
  'bhd bif clp djf gnf iqd isk jod jpy kmf krw kwd lyd mga omr pyg rwf tnd ugx uyi vnd vuv xaf xof xpf'.split(' '),
)

export const Currency = z
  .string()
  .regex(/^[a-z]{3}$/, 'must be three lower-case letters such as eur')
  .refine((code) => !withoutCents.has(code), 'must be a currency with two decimals')

/** `12.30 EUR` */
export const moneyText = ({ cents, currency }: Money): string => {
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)} ${currency.toUpperCase()}`
}
