import type { Plan } from '../../core/boxes/index.ts'
import type { TenantStatus } from '../../core/tenants/index.ts'

export type TenantTable = {
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
}

declare module '../db/database.ts' {
  interface Tables {
    tenants: TenantTable
  }
}
