import type { Generated, Selectable } from 'kysely'
import type { Plan } from '../../core/boxes/index.ts'
import type { SuspensionCause, TenantStatus } from '../../core/tenants/index.ts'

type TenantTable = {
  id: string
  slug: string
  chat_domain: string
  name: string
  plan: Plan
  status: TenantStatus
  time_zone: string | null
  /** JSON: days and hours, or "any"; null: the window of its tier. */
  maintenance_window: string | null
  created_at: string
  suspended_reason: Generated<string | null>
  suspended_cause: Generated<SuspensionCause | null>
  /** Active until then although the cause is left. */
  resumed_until: Generated<string | null>
  /** Never null in rows written by the migration or the daemon. */
  school_id: Generated<string | null>
  org_id: Generated<string | null>
  /** JSON; null: the tenant's name. */
  branding: Generated<string | null>
  /** `#rrggbb`. */
  brand_color: Generated<string | null>
  /** The id of a ready logo. */
  logo_id: Generated<string | null>
  /** JSON object of flags by name. */
  feature_flags: Generated<string>
  payment_customer_id: Generated<string | null>
  billing_email: Generated<string | null>
  updated_at: Generated<string | null>
}

export type TenantRow = Selectable<TenantTable>

declare module '../db/database.ts' {
  interface Tables {
    tenants: TenantTable
  }
}
