import type { Generated } from 'kysely'
import type { Lane, Track } from '../../core/outbox/index.ts'

// Row shapes use text for timestamps (ISO 8601 UTC) and JSON, and 0/1 for booleans: the same bytes on both dialects.

type LeaseTable = {
  name: string
  holder: string
  /** Rises by one with each new holder; writes of an older holder are refused by it. */
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

type OutboxTable = {
  id: Generated<number>
  topic: string
  payload: string
  /** Noted; waiting in its queue; given up. `leased` was worked on by a daemon of an older version. */
  status: 'pending' | 'queued' | 'dead' | 'leased'
  attempts: number
  next_at: string
  lease_until: string | null
  last_error: string | null
  created_at: string
  /** What it waits for, where it waits, whom it is about; null in what an older version noted. */
  lane: Lane | null
  queue: string | null
  key: string | null
}

/** The queues that hold something. */
type OutboxQueueTable = {
  queue: string
  /** `away`: its server was, when it was last asked. */
  lane: Track
  /** When its next work is due; while it is held, when its lease ends. */
  due_at: string
  held: number
  turn: number
  /** How often in a row its server was away. */
  failures: number
}

export type FrameTables = {
  leases: LeaseTable
  streams: StreamTable
  events: EventTable
  outbox: OutboxTable
  outbox_queues: OutboxQueueTable
}
