import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Active users, reports of usage, statements of developers and subscriptions of plans. Money is in integer cents. */
export const billing: Migration = {
  name: '0056-billing',
  async up(db) {
    await db.schema.alterTable('tenants').addColumn('billing_email', 'text').execute()
    await db.schema
      .createTable('billing_active_users')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('month', 'text', (c) => c.notNull())
      .addColumn('user_id', 'text', (c) => c.notNull())
      .addColumn('first_day', 'text', (c) => c.notNull())
      .addColumn('last_day', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('billing_active_users_pk', ['tenant_id', 'month', 'user_id'])
      .execute()
    await db.schema
      .createTable('billing_spans')
      .addColumn('payment_subscription_id', 'text', (c) => c.notNull())
      .addColumn('from_at', 'text', (c) => c.notNull())
      .addColumn('to_at', 'text')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('item_id', 'text', (c) => c.notNull())
      .addColumn('customer_id', 'text', (c) => c.notNull())
      .addColumn('price_model', 'text', (c) => c.notNull())
      .addColumn('unit_cents', 'integer', (c) => c.notNull())
      .addColumn('currency', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('billing_spans_pk', ['payment_subscription_id', 'from_at'])
      .execute()
    await db.schema
      .createTable('billing_reports')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('payment_subscription_id', 'text', (c) => c.notNull())
      .addColumn('month', 'text', (c) => c.notNull())
      .addColumn('day', 'text', (c) => c.notNull())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('item_id', 'text', (c) => c.notNull())
      .addColumn('customer_id', 'text', (c) => c.notNull())
      .addColumn('quantity', 'integer', (c) => c.notNull())
      .addColumn('unit_cents', 'integer', (c) => c.notNull())
      .addColumn('currency', 'text', (c) => c.notNull())
      .addColumn('event_at', 'text', (c) => c.notNull())
      .addColumn('revision', 'integer', (c) => c.notNull())
      .addColumn('closes_month', 'integer', (c) => c.notNull())
      .addColumn('sent_at', 'text')
      .addColumn('claimed_cents', 'integer', (c) => c.notNull())
      .addColumn('invoice_id', 'text')
      .addColumn('invoice_item_id', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addUniqueConstraint('billing_reports_once', ['payment_subscription_id', 'month', 'day'])
      .execute()
    await db.schema
      .createIndex('billing_reports_unsent')
      .on('billing_reports')
      .columns(['payment_subscription_id', 'day'])
      .where(sql.ref('sent_at'), 'is', null)
      .execute()
    await db.schema
      .createTable('billing_usage')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('module_id', 'text', (c) => c.notNull())
      .addColumn('month', 'text', (c) => c.notNull())
      .addColumn('developer_id', 'text', (c) => c.notNull())
      .addColumn('price_cents', 'integer', (c) => c.notNull())
      .addColumn('currency', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('reason', 'text')
      .addColumn('customer_id', 'text')
      .addColumn('invoice_id', 'text')
      .addColumn('invoice_item_id', 'text')
      .addColumn('payout_id', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addUniqueConstraint('billing_usage_once', ['tenant_id', 'module_id', 'month'])
      .execute()
    await db.schema
      .createTable('billing_payouts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('developer_id', 'text', (c) => c.notNull())
      .addColumn('month', 'text', (c) => c.notNull())
      .addColumn('vendor_id', 'text')
      .addColumn('gross_cents', 'integer', (c) => c.notNull())
      .addColumn('fee_cents', 'integer', (c) => c.notNull())
      .addColumn('net_cents', 'integer', (c) => c.notNull())
      .addColumn('held_cents', 'integer', (c) => c.notNull())
      .addColumn('currency', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('reason', 'text')
      .addColumn('destination', 'text')
      .addColumn('transfer_id', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addUniqueConstraint('billing_payouts_once', ['developer_id', 'month'])
      .execute()
    await db.schema
      .createTable('billing_developers')
      .addColumn('developer_id', 'text', (c) => c.primaryKey())
      .addColumn('vendor_id', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('billing_warnings')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('month', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('billing_warnings_pk', ['tenant_id', 'month'])
      .execute()
    await db.schema
      .createTable('tenant_billing')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey())
      .addColumn('subscription_id', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('plan', 'text')
      .addColumn('current_period_end', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
    for (const [name, table, columns] of [
      ['billing_active_users_by_month', 'billing_active_users', ['month']],
      ['billing_spans_of_tenant', 'billing_spans', ['tenant_id']],
      ['billing_reports_newest', 'billing_reports', ['created_at', 'id']],
      ['billing_reports_of_tenant', 'billing_reports', ['tenant_id', 'month']],
      ['billing_usage_newest', 'billing_usage', ['created_at', 'id']],
      ['billing_usage_by_month', 'billing_usage', ['month', 'tenant_id']],
      ['billing_usage_by_state', 'billing_usage', ['state', 'id']],
      ['billing_usage_of_developer', 'billing_usage', ['developer_id', 'state']],
      ['billing_usage_of_payout', 'billing_usage', ['payout_id']],
      ['billing_payouts_newest', 'billing_payouts', ['created_at', 'id']],
      ['billing_payouts_by_state', 'billing_payouts', ['state', 'id']],
      ['billing_warnings_by_month', 'billing_warnings', ['month']],
    ] as const)
      await db.schema
        .createIndex(name)
        .on(table)
        .columns([...columns])
        .execute()
  },
}
