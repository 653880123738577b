type DocumentTable = {
  tenant_id: string
  module_id: string
  /** `data_generation` of the installation; rows of another generation are of a migration that runs or ended. */
  generation: number
  key: string
  /** JSON. */
  value: string
  version: number
  bytes: number
}

export type RunTable = {
  id: string
  tenant_id: string
  module_id: string
  version: string
  generation: number
  kind: 'event' | 'route' | 'migration'
  event_type: string | null
  /** The event, or the request, that started the chain. */
  cause: string | null
  depth: number
  delivery_id: string | null
  attempt: number
  status: 'done' | 'failed' | 'limit' | 'dead' | 'loop' | 'conflict'
  ms: number
  interpreter_ms: number
  /** JSON. */
  violations: string
  error: string | null
  /** JSON. */
  log: string
  created_at: string
}

/** Counts of runs for health. `bucket`: see `healthBuckets` in core. */
type CounterTable = { module_id: string; version: string; minute: string; bucket: string; count: number }

/** Position of an installation in the event stream of its tenant, and the attempts of the next delivery. */
type PositionTable = {
  tenant_id: string
  module_id: string
  /** The last event that was delivered or left out. */
  seq: number
  attempt: number
  next_at: string | null
  delivery_id: string | null
  failing_since: string | null
  error: string | null
  /** Events that were skipped because the module was too far behind. */
  skipped: number
  skipped_at: string | null
}

/** An event that a type B service did not take. */
export type DeadLetterTable = {
  /** The id of the delivery. */
  id: string
  tenant_id: string
  module_id: string
  seq: number
  event_type: string
  attempts: number
  error: string
  created_at: string
}

/** Published events of an installation in one minute. `notified_at`: the second of the last one that clients received. */
type PublishingTable = { tenant_id: string; module_id: string; minute: string; published: number; notified_at: string | null }

declare module '../db/database.ts' {
  interface Tables {
    module_documents: DocumentTable
    module_runs: RunTable
    module_publishing: PublishingTable
    module_counters: CounterTable
    module_positions: PositionTable
    module_dead_letters: DeadLetterTable
  }
}
