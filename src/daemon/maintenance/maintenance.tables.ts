import type { MaintenanceStatus } from '../../core/maintenance/index.ts'

/** The notice to an organisation of the update of its box by one rollout. */
export type MaintenanceNoticeTable = {
  id: string
  tenant_id: string
  /** The box of the rollout. */
  action_id: string
  status: MaintenanceStatus
  emergency: number
  /** Null: it was put off, and the new time is not known. */
  starts_at: string | null
  /** The end of the maintenance window; null without one. */
  ends_by: string | null
  expected_downtime_ms: number
  /** 1: measured at the last update of the box; 0: the estimate of the plan. */
  measured: number
  downtime_ms: number | null
  announced_at: string
  ended_at: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    maintenance_notices: MaintenanceNoticeTable
  }
}
