import { sql } from 'kysely'

/** Active users and usage of tenants, reports to the payment provider, and payouts of developers. */
export const billing = [
  sql`create table billing_active_users (
    tenant_id text not null,
    month text not null,
    user_id text not null,
    first_day text not null,
    last_day text not null,
    constraint billing_active_users_pk primary key (tenant_id, month, user_id)
  )`,
  sql`create index billing_active_users_by_month on billing_active_users (month)`,
  sql`create table billing_spans (
    payment_subscription_id text not null,
    from_at text not null,
    to_at text,
    tenant_id text not null,
    item_id text not null,
    customer_id text not null,
    price_model text not null,
    unit_cents integer not null,
    currency text not null,
    constraint billing_spans_pk primary key (payment_subscription_id, from_at)
  )`,
  sql`create index billing_spans_of_tenant on billing_spans (tenant_id)`,
  sql`create table billing_reports (
    id text primary key,
    payment_subscription_id text not null,
    month text not null,
    day text not null,
    tenant_id text not null,
    item_id text not null,
    customer_id text not null,
    quantity integer not null,
    unit_cents integer not null,
    currency text not null,
    event_at text not null,
    revision integer not null,
    closes_month integer not null,
    sent_at text,
    claimed_cents integer not null,
    invoice_id text,
    invoice_item_id text,
    created_at text not null,
    reason text,
    constraint billing_reports_once unique (payment_subscription_id, month, day)
  )`,
  sql`create index billing_reports_unsent on billing_reports (payment_subscription_id, day) where sent_at is null`,
  sql`create index billing_reports_newest on billing_reports (created_at, id)`,
  sql`create index billing_reports_of_tenant on billing_reports (tenant_id, month)`,
  sql`create table billing_usage (
    id text primary key,
    tenant_id text not null,
    module_id text not null,
    month text not null,
    developer_id text not null,
    price_cents integer not null,
    currency text not null,
    state text not null,
    reason text,
    customer_id text,
    invoice_id text,
    invoice_item_id text,
    payout_id text,
    created_at text not null,
    updated_at text not null,
    refunded_cents integer not null default 0,
    counted_cents integer not null default 0,
    constraint billing_usage_once unique (tenant_id, module_id, month)
  )`,
  sql`create index billing_usage_newest on billing_usage (created_at, id)`,
  sql`create index billing_usage_by_month on billing_usage (month, tenant_id)`,
  sql`create index billing_usage_by_state on billing_usage (state, id)`,
  sql`create index billing_usage_of_developer on billing_usage (developer_id, state)`,
  sql`create index billing_usage_of_payout on billing_usage (payout_id)`,
  sql`create index billing_usage_invoice on billing_usage (invoice_id)`,
  sql`create index billing_usage_in_state on billing_usage (state, created_at, id)`,
  sql`create index billing_usage_not_stated on billing_usage (developer_id, id)
    where ((state = 'billed' and payout_id is null)
      or (state = 'paid' and counted_cents <> price_cents - refunded_cents)
      or (state = 'refunded' and counted_cents <> 0))`,
  sql`create table billing_payouts (
    id text primary key,
    developer_id text not null,
    month text not null,
    vendor_id text,
    gross_cents integer not null,
    fee_cents integer not null,
    net_cents integer not null,
    held_cents integer not null,
    currency text not null,
    state text not null,
    reason text,
    destination text,
    transfer_id text,
    created_at text not null,
    deducted_cents integer not null default 0,
    transfer_attempt integer not null default 0,
    constraint billing_payouts_once unique (developer_id, month)
  )`,
  sql`create index billing_payouts_newest on billing_payouts (created_at, id)`,
  sql`create index billing_payouts_by_state on billing_payouts (state, id)`,
  sql`create table billing_developers (
    developer_id text primary key,
    vendor_id text not null
  )`,
  sql`create table billing_warnings (
    tenant_id text not null,
    month text not null,
    created_at text not null,
    constraint billing_warnings_pk primary key (tenant_id, month)
  )`,
  sql`create index billing_warnings_by_month on billing_warnings (month)`,
  sql`create table tenant_billing (
    tenant_id text primary key,
    subscription_id text not null,
    status text not null,
    plan text,
    current_period_end text not null,
    updated_at text not null
  )`,
]
