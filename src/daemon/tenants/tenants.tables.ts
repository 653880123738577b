import type { Generated, Selectable } from 'kysely'
import type { Plan } from '../../core/boxes/index.ts'
import type { TenantStatus } from '../../core/tenants/index.ts'

type TenantTable = {
  id: string
  slug: string
  chat_domain: string
  name: string
  plan: Plan
  status: TenantStatus
  time_zone: string | null
  /** JSON: its parts, or "any"; null leaves it to the tier. */
  maintenance_window: string | null
  created_at: string
  suspended_reason: Generated<string | null>
  /** Null in no row that the migration or the daemon wrote. */
  school_id: Generated<string | null>
  org_id: Generated<string | null>
  /** JSON; null: as the tenant is named. */
  branding: Generated<string | null>
  /** JSON: by name. */
  feature_flags: Generated<string>
  payment_customer_id: Generated<string | null>
  updated_at: Generated<string | null>
}

export type TenantRow = Selectable<TenantTable>

declare module '../db/database.ts' {
  interface Tables {
    tenants: TenantTable
  }
}
