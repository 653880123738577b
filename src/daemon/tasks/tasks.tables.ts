import type { TaskStatus } from '../../core/tasks/index.ts'

export type TaskTable = {
  id: string
  tenant_id: string
  external_id: string | null
  event_id: string | null
  space_id: string | null
  run_id: string | null
  title: string
  status: TaskStatus
  /** As its maker wrote it. */
  assigned_role: string | null
  /** The same as the role book spells it. */
  role_key: string | null
  assignee_id: string | null
  due_at: string | null
  escalation_level: number
  escalated_at: string | null
  /** Null: automation or a board. */
  created_by: string | null
  created_at: string
  updated_at: string
}

declare module '../db/database.ts' {
  interface Tables {
    tasks: TaskTable
  }
}
