import type { Generated } from 'kysely'
import type { JobPool, WorkerPool } from '../../core/jobs/index.ts'

// Row shapes use text for timestamps (ISO 8601 UTC) and JSON, and 0/1 for booleans: the same bytes on both dialects.

type LeaseTable = {
  name: string
  /** The process that owns the lease. */
  holder: string
  /** Rises by one with each new owner; writes of an older owner fail. */
  token: number
  expires_at: string
}

type StreamTable = { stream: string; seq: number }

export type EventTable = {
  stream: string
  seq: number
  source: string
  event_type: string
  payload: string
  created_at: string
  tenant_id: string | null
  /** JSON. */
  audience: string | null
}

/** Jobs that are not done. */
type JobTable = {
  id: Generated<number>
  topic: string
  payload: string
  /** Not in a queue yet; in a queue; abandoned. */
  status: 'pending' | 'queued' | 'dead'
  attempts: number
  /** When it runs next. */
  next_at: string
  last_error: string | null
  created_at: string
  /** The pool. */
  pool: JobPool
  queue: string
  /** Jobs with the same key run in their order. */
  key: string | null
  /** When it was to run first; null: at once. */
  run_at: string | null
  /** The trace in which it was enqueued. */
  trace: string | null
}

/** Queues that are not empty. */
type JobQueueTable = {
  queue: string
  /** The pool; `away` while its server does not answer. */
  pool: WorkerPool
  /** When its next job is due; while leased: when the lease expires. */
  due_at: string
  /** 1 while leased. */
  locked: number
  /** The lease token. */
  token: number
  /** How often in a row its server did not answer. */
  failures: number
}

export type FrameTables = {
  leases: LeaseTable
  streams: StreamTable
  events: EventTable
  jobs: JobTable
  job_queues: JobQueueTable
}
