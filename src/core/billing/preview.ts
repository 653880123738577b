import { z } from 'zod'
import { moneyText } from '../payments/index.ts'
import { Month } from './month.ts'

/** `users`: active users of a month. `item`: an item with a monthly price. `module`: a module of the store. */
const Charge = z.object({
  kind: z.enum(['users', 'item', 'module']),
  subject: z.string().meta({ description: 'Id of the item or module' }),
  name: z.string(),
  quantity: z.int(),
  unitCents: z.int(),
  cents: z.int(),
  currency: z.string(),
})
export type Charge = Readonly<z.infer<typeof Charge>>

export const Preview = z.object({
  month: Month,
  tenant: z.string().meta({ description: 'Its slug' }),
  charges: z.array(Charge),
  totalCents: z.int().meta({ description: 'Of the charges in `currency`; those in another one are not charged' }),
  currency: z.string(),
  unbilled: z
    .array(z.object({ month: Month, cents: z.int(), currency: z.string() }))
    .meta({ description: 'Earlier months whose modules are not billed: charged by the next run that can, and not in the total' }),
})
export type Preview = Readonly<z.infer<typeof Preview>>

/** Amounts of different currencies are never added. */
export const totalOf = (charges: readonly Pick<Charge, 'cents' | 'currency'>[], currency: string): number =>
  charges.reduce((sum, charge) => (charge.currency === currency ? sum + charge.cents : sum), 0)

const quantities = {
  users: (count: number) => `${count} active ${count === 1 ? 'user' : 'users'}`,
  item: () => 'month',
  module: () => 'month',
}

/** One line for each earlier month that is not billed. */
export const unbilledText = ({ unbilled }: Pick<Preview, 'unbilled'>): string[] =>
  unbilled.map(({ month, cents, currency }) => `Modules in ${month}: ${moneyText({ cents, currency })}`)

/** One line for each charge, and the total. */
export function chargesText({ charges, totalCents, currency }: Pick<Preview, 'charges' | 'totalCents' | 'currency'>): string[] {
  const lines = charges.map((charge) => {
    const { kind, name, quantity, unitCents, cents } = charge
    const at = `${name}: ${quantities[kind](quantity)} at ${moneyText({ cents: unitCents, currency: charge.currency })}`
    return charge.currency === currency
      ? `${at} = ${moneyText({ cents, currency })}`
      : `${at}, not charged: prices are in ${currency.toUpperCase()}`
  })
  return [...lines, `Total: ${moneyText({ cents: totalCents, currency })}`]
}
