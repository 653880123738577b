import type { Generated } from 'kysely'

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
  status: 'pending' | 'leased' | 'dead'
  attempts: number
  next_at: string
  lease_until: string | null
  last_error: string | null
  created_at: string
}

export type FrameTables = {
  leases: LeaseTable
  streams: StreamTable
  events: EventTable
  outbox: OutboxTable
}
