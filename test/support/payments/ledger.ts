import type { Money, ProviderInvoice, ProviderSubscription } from '../../../src/core/payments/index.ts'

/** A subscription has a percentage, an invoice of its own an amount. */
type Payout = Readonly<{ destination: string }> & (Readonly<{ applicationFeePercent: number }> | Readonly<{ feeCents: number }>)
export type Subscription = { -readonly [Key in keyof ProviderSubscription]: ProviderSubscription[Key] } & {
  anchor: Readonly<{ dayOfMonth: number; hour: number }> | null
  /** Changed by hand; 1 if absent. */
  quantity?: number
}
export type Invoice = { -readonly [Key in keyof ProviderInvoice]: ProviderInvoice[Key] } & { payout: Payout | null; vendorCents: number }

const feeOf = (payout: Payout, cents: number): number =>
  'feeCents' in payout ? payout.feeCents : Math.round((cents * payout.applicationFeePercent) / 100)

/** Who has how much, in cents. */
export function ledger() {
  const balances = new Map<string, number>()
  const add = (who: string, cents: number) => balances.set(who, (balances.get(who) ?? 0) + cents)
  return {
    balance: (who: string) => balances.get(who) ?? 0,
    /** The customer pays what its credit does not cover: the platform keeps its fee, the vendor gets the rest. */
    pay: (invoice: Invoice, creditCents = 0) => {
      const cents = Math.max(0, invoice.total.cents - creditCents) - invoice.paidCents
      invoice.paidCents += cents
      invoice.status = 'paid'
      invoice.vendorCents = invoice.payout ? cents - feeOf(invoice.payout, cents) : 0
      add(invoice.customerId, -cents)
      if (invoice.payout) add(invoice.payout.destination, invoice.vendorCents)
      add('platform', cents - invoice.vendorCents)
    },
    /** All that is left, with the share of the vendor; or a part, which the platform bears. */
    refund: (invoice: Invoice, part?: number): number => {
      const cents = part ?? invoice.paidCents - invoice.refundedCents
      invoice.refundedCents += cents
      add(invoice.customerId, cents)
      const vendorCents = cents > 0 && invoice.payout && part === undefined ? invoice.vendorCents : 0
      invoice.vendorCents -= vendorCents
      if (invoice.payout) add(invoice.payout.destination, -vendorCents)
      add('platform', vendorCents - cents)
      return cents
    },
    /** The bank refused the refund: the platform has it again, also what the vendor had of it. */
    returnRefund: (invoice: Invoice, cents: number): void => {
      invoice.refundedCents -= cents
      add(invoice.customerId, -cents)
      add('platform', cents)
    },
    transfer: (destination: string, { cents }: Money) => {
      add('platform', -cents)
      add(destination, cents)
    },
  }
}

/** The next invoice after `from`: at the anchor, or at the day and time of creation, at the latest the last day of the month. */
export function nextPeriodEnd({ createdAt, anchor }: Pick<Subscription, 'createdAt' | 'anchor'>, from: string): string {
  const created = new Date(createdAt)
  const day = anchor?.dayOfMonth ?? created.getUTCDate()
  const time: [number, number, number] = anchor
    ? [anchor.hour, 0, 0]
    : [created.getUTCHours(), created.getUTCMinutes(), created.getUTCSeconds()]
  const start = new Date(from)
  for (let month = start.getUTCMonth(); ; month++) {
    const lastDay = new Date(Date.UTC(start.getUTCFullYear(), month + 1, 0)).getUTCDate()
    const end = new Date(Date.UTC(start.getUTCFullYear(), month, Math.min(day, lastDay), ...time))
    if (end.getTime() > start.getTime()) return end.toISOString()
  }
}
