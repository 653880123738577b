/** A paid installation from its begin to its end: at most one is open for a tenant and item. */
export type AttemptTable = {
  id: string
  tenant_id: string
  item_id: string
  /** At the provider. */
  customer_id: string
  /** JSON: the entries of the saga. */
  journal: string
  outcome: 'committed' | 'rolled_back' | null
  created_at: string
  updated_at: string
  /** Null while open. */
  finished_at: string | null
}

/** Every subscription that the provider ever had for a tenant and item: a re-install overwrites the id in the marketplace. */
type LinkTable = { payment_subscription_id: string; tenant_id: string; item_id: string; created_at: string }

/** A verified event of the provider. */
export type EventTable = {
  /** At the provider. */
  id: string
  type: string
  endpoint: 'platform' | 'connect' | 'thin'
  object_kind: string | null
  object_id: string | null
  livemode: number
  /** When the provider made it. */
  event_at: string
  /** When it was received. */
  created_at: string
  /** The effect; null until it is applied. */
  outcome: string | null
  applied_at: string | null
}

/** Refunds of an invoice that are in the audit log. */
type RefundTable = { invoice_id: string; refunded_cents: number; updated_at: string }

declare module '../db/database.ts' {
  interface Tables {
    payment_attempts: AttemptTable
    payment_links: LinkTable
    payment_events: EventTable
    payment_refunds: RefundTable
  }
}
