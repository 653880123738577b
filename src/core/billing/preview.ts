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
  totalCents: z.int(),
  currency: z.string(),
})
export type Preview = Readonly<z.infer<typeof Preview>>

export const totalOf = (charges: readonly Pick<Charge, 'cents'>[]): number => charges.reduce((sum, { cents }) => sum + cents, 0)

const quantities = {
  users: (count: number) => `${count} active ${count === 1 ? 'user' : 'users'}`,
  item: () => 'month',
  module: () => 'month',
}

/** One line for each charge, and the total. */
export function chargesText({ charges, totalCents, currency }: Pick<Preview, 'charges' | 'totalCents' | 'currency'>): string[] {
  const lines = charges.map(
    ({ kind, name, quantity, unitCents, cents }) =>
      `${name}: ${quantities[kind](quantity)} at ${moneyText({ cents: unitCents, currency })} = ${moneyText({ cents, currency })}`,
  )
  return [...lines, `Total: ${moneyText({ cents: totalCents, currency })}`]
}
