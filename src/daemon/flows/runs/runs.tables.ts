import type { RunStatus, TimerName } from '../../../core/boards/index.ts'

export type RunTable = {
  id: string
  tenant_id: string
  board_id: string
  board_version: number
  board_name: string
  space_id: string | null
  status: RunStatus
  seq: number
  /** JSON of a `RunTrigger`. */
  trigger: string
  /** Unique per board: the key of the caller, or the occurrence of a trigger. */
  start_key: string | null
  /** JSON of `Readers`. */
  readers: string
  /** JSON of the active elements and columns. */
  active: string
  failure: string | null
  /** JSON of a `RunState`. */
  state: string
  started_by: string | null
  started_at: string
  finished_at: string | null
  due_at: string | null
  updated_at: string
  /** When the ended run is deleted; null: it has not ended. */
  expires_at: string | null
}

type RunHistoryTable = {
  run_id: string
  seq: number
  tenant_id: string
  /** `Idempotency-Key` of the request. */
  key: string | null
  at: string
  by_user: string | null
  type: string
  element_id: string | null
  /** JSON of the input, so that the history can be replayed. */
  input: string
  /** SHA-256 of the request of a key: another request with that key is refused. The request itself may have a drawn signature. */
  request: string | null
  /** JSON of the answer to a request with a key. */
  answer: string | null
}

/** Open elements: a closed one has no row. */
export type RunElementTable = {
  run_id: string
  token_id: string
  tenant_id: string
  element_id: string
  kind: 'task' | 'checkpoint' | 'form'
  label: string
  /** Empty: the element is for the user who started the run, in `starter_id`. */
  role_key: string
  starter_id: string | null
  /** The role that may submit a form too, since it was overdue; the one that a task was escalated to. */
  escalated_role: string | null
  required_approvals: number | null
  /** JSON array of user ids. */
  approvals: string
  task_id: string | null
  escalation_task_id: string | null
  due_at: string | null
  opened_at: string
}

type RunTimerTable = {
  run_id: string
  /** Empty: a timer of the run itself. */
  token_id: string
  name: TimerName
  tenant_id: string
  due_at: string
  /** 1 while the run has failed: its timers do not fire. */
  paused: number
}

type RunMessageTable = {
  run_id: string
  token_id: string
  tenant_id: string
  element_id: string
  room: string
  body: string
  status: 'pending' | 'sent' | 'failed'
  matrix_event_id: string | null
  created_at: string
}

export type RunReportTable = {
  id: string
  run_id: string
  token_id: string
  tenant_id: string
  element_id: string
  title: string
  markdown: string
  /** JSON array of names. */
  missing: string
  status: 'pending' | 'ready' | 'failed'
  markdown_file_id: string | null
  pdf_file_id: string | null
  created_at: string
}

declare module '../../db/database.ts' {
  interface Tables {
    runs: RunTable
    run_history: RunHistoryTable
    run_elements: RunElementTable
    run_timers: RunTimerTable
    run_messages: RunMessageTable
    run_reports: RunReportTable
  }
}
