import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { Month } from './month.ts'
import { usageKinds, usageStates } from './usage-states.ts'

export const UsageState = z.enum(usageStates)
export type UsageState = z.infer<typeof UsageState>

/**
 * The usage of a month: users of an item, or a module. `planned`: not sent yet. `reported`: sent to the meter. `billed`: on an invoice.
 * `unbilled`: there is no payment customer or no provider. `paid`: the invoice is paid and not refunded.
 * `void`: the invoice was voided or marked uncollectible, or its payment lost in a dispute. `waived`: an operator waived it before it was billed.
 */
export const UsageRow = z.object({
  id: z.string(),
  tenant: z.string(),
  month: Month,
  kind: z.enum(usageKinds),
  subject: z.string().meta({ description: 'Id of the item or module' }),
  quantity: z.int(),
  unitCents: z.int(),
  cents: z.int(),
  currency: z.string(),
  state: UsageState,
  reason: z.string().nullable().meta({ description: 'Why it is not billed or was waived' }),
  invoiceId: z.string().nullable(),
  invoiceItemId: z.string().nullable(),
  createdAt: Timestamp,
})
export type UsageRow = Readonly<z.infer<typeof UsageRow>>

/** `listed`: transfers are off. `waiting`: no vendor, or one that cannot be paid. `transferred`: paid. */
const PayoutState = z.enum(['listed', 'waiting', 'transferred'])

/** Earnings of a developer with modules whose invoices were paid since the statement before. */
export const Payout = z.object({
  id: z.string(),
  developerId: z.string(),
  vendorId: z.string().nullable(),
  month: Month,
  grossCents: z.int(),
  feeCents: z.int(),
  netCents: z.int(),
  heldCents: z
    .int()
    .meta({ description: 'Billed and not paid, or disputed, when the statement was made; a later one has it once it is paid' }),
  deductedCents: z.int().meta({ description: 'Refunds of what former statements counted; grossCents is less by them' }),
  currency: z.string(),
  state: PayoutState,
  reason: z.string().nullable(),
  transferId: z.string().nullable(),
  createdAt: Timestamp,
})
export type Payout = Readonly<z.infer<typeof Payout>>
