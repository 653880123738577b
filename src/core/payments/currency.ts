import { z } from 'zod'

/** ISO 4217, lower case. Currencies without two decimals are not supported: their smallest unit is not a cent. */
const withoutCents = new Set(
  'bhd bif clp djf gnf iqd isk jod jpy kmf krw kwd lyd mga omr pyg rwf tnd ugx uyi vnd vuv xaf xof xpf'.split(' '),
)

export const Currency = z
  .string()
  .regex(/^[a-z]{3}$/, 'must be three lower-case letters such as eur')
  .refine((code) => !withoutCents.has(code), 'must be a currency with two decimals')
