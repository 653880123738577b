import { z } from 'zod'

const kinds = [
  ...(['customer_missing', 'subscription_missing', 'subscription_unknown', 'subscription_continues', 'subscription_ends'] as const),
  ...(['price_differs', 'terms_differ', 'payment_status_differs', 'usage_not_invoiced', 'usage_not_sent'] as const),
  ...([
    'module_not_billed',
    'module_not_invoiced',
    'module_waived',
    'module_refunded',
    'transfer_missing',
    'transfer_differs',
    'plan_differs',
  ] as const),
  ...(['item_price_differs', 'account_differs', 'billing_address_differs', 'invoice_not_final'] as const),
] as const
export const DifferenceKind = z.enum(kinds)
type DifferenceKind = z.infer<typeof DifferenceKind>

/** An operator accepts a difference as it is: it is named again once one of its sides changes. */
export const Accepted = z.strictObject({
  kind: DifferenceKind,
  subject: z.string().min(1).max(200),
  id: z.string().min(1).max(255),
  here: z.string().max(1000),
  there: z.string().max(1000),
  reason: z.string().trim().min(1).max(1000),
})
export type Accepted = Readonly<z.infer<typeof Accepted>>

/** Something that Tenantry and the provider have differently. Nothing is changed by naming it. */
export const Difference = z.object({
  kind: DifferenceKind,
  subject: z.string().meta({ description: 'A tenant, an item, a vendor or a developer' }),
  id: z.string().meta({ description: 'The record, here or at the provider' }),
  here: z.string(),
  there: z.string(),
  fix: z.string(),
})
export type Difference = Readonly<z.infer<typeof Difference>>

/** For what no change closes: the record of a final invoice or transfer stays as it is. With its tenant nothing else is compared again. */
export const acceptFix = (kind: DifferenceKind, id: string, tenant?: string): string =>
  `tenantry billing accept ${kind} ${id}${tenant === undefined ? '' : ` --tenant ${tenant}`} --reason <why>`

type Text = Readonly<{ here: string; there: string; fix: string }>

export const difference = (kind: DifferenceKind, { subject, id }: Readonly<{ subject: string; id: string }>, text: Text): Difference => ({
  kind,
  subject,
  id,
  ...text,
})
