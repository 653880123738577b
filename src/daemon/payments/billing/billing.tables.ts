import type { PriceModel } from '../../../core/marketplace/index.ts'

/** A user that called the platform in a month; deleted after 13 months. */
type ActiveUserTable = { tenant_id: string; month: string; user_id: string; first_day: string; last_day: string }

/** A paid item was installed from then to then, by one subscription at the provider. */
export type SpanTable = {
  payment_subscription_id: string
  from_at: string
  /** Null while it is installed. */
  to_at: string | null
  tenant_id: string
  item_id: string
  customer_id: string
  price_model: PriceModel
  unit_cents: number
  currency: string
}

/** Users of a month that were reported on one day; the days of a month add up. */
export type ReportTable = {
  id: string
  payment_subscription_id: string
  month: string
  day: string
  tenant_id: string
  item_id: string
  customer_id: string
  quantity: number
  unit_cents: number
  currency: string
  /** The time of the usage at the provider; it never changes, so that a repeated report replaces the former one. */
  event_at: string
  /** Raised with the quantity. */
  revision: number
  /** 1: the month is finished, and its users are not counted again. */
  closes_month: number
  sent_at: string | null
  /** Not sent: why it cannot be. Sent: an operator waived it instead. */
  reason: string | null
  /** Cents that were charged by an invoice item, because the invoice of the period was final. */
  claimed_cents: number
  invoice_id: string | null
  invoice_item_id: string | null
  created_at: string
}

/** A paid module of a tenant in a month, with the price of that month. */
export type ModuleUsageTable = {
  id: string
  tenant_id: string
  module_id: string
  month: string
  developer_id: string
  price_cents: number
  currency: string
  state: 'planned' | 'billed' | 'unbilled' | 'paid' | 'refunded' | 'void' | 'waived'
  /** Why it is unbilled or waived. */
  reason: string | null
  customer_id: string | null
  invoice_id: string | null
  invoice_item_id: string | null
  /** Part of a refund of its invoice, by price. */
  refunded_cents: number
  /** Cents that statements count of it; a refund after that is deducted from the next one. */
  counted_cents: number
  /** The statement that counts it. */
  payout_id: string | null
  created_at: string
  updated_at: string
}

/** A statement of a developer. Its amounts change only before its transfer has begun, by refunds and disputes. */
export type PayoutTable = {
  id: string
  developer_id: string
  month: string
  vendor_id: string | null
  gross_cents: number
  fee_cents: number
  net_cents: number
  held_cents: number
  /** Refunds of what former statements counted; less in `gross_cents`. */
  deducted_cents: number
  currency: string
  state: 'listed' | 'waiting' | 'transferred'
  reason: string | null
  /** The account at the provider, from the first call until the provider refuses: a call without answer may have transferred. */
  destination: string | null
  /** Raised by each refusal: part of the idempotency key. */
  transfer_attempt: number
  transfer_id: string | null
  created_at: string
}

type DeveloperTable = { developer_id: string; vendor_id: string }
type WarningTable = { tenant_id: string; month: string; created_at: string }

/** The subscription of a tenant's plan. */
type TenantBillingTable = {
  tenant_id: string
  subscription_id: string
  /** As the provider names it. */
  status: string
  plan: string | null
  current_period_end: string
  updated_at: string
}

declare module '../../db/database.ts' {
  interface Tables {
    billing_active_users: ActiveUserTable
    billing_spans: SpanTable
    billing_reports: ReportTable
    billing_usage: ModuleUsageTable
    billing_payouts: PayoutTable
    billing_developers: DeveloperTable
    billing_warnings: WarningTable
    tenant_billing: TenantBillingTable
  }
}
