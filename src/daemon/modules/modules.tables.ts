import type { InstallationState } from '../../core/modules/index.ts'

/** A module of a tenant. The row stays after the data was deleted. */
export type InstallationTable = {
  tenant_id: string
  module_id: string
  version: string
  status: InstallationState['status']
  paused: number
  /** JSON, approved permissions. */
  permissions: string
  feature_flag: string
  /** JSON, without secrets. */
  settings: string
  /** Raised by each change: a run that began before it commits nothing. */
  generation: number
  /** The generation of the documents in force; a migration writes the next one. */
  data_generation: number
  /** Migrations that the documents have. */
  data_version: number
  data_bytes: number
  /** A migration of the documents runs at most until then: nothing of the module runs, and no other change begins. */
  busy_until: string | null
  /** JSON, the version before the last update, for a rollback until `former_until`. */
  former: string | null
  former_until: string | null
  /** Type B: the service confirmed the last life-cycle call. */
  remote: 'pending' | 'confirmed' | null
  /** Type B: the host that the tenant consented to. */
  upstream_host: string | null
  installed_at: string
  activated_at: string | null
  data_delete_at: string | null
  updated_at: string
}

/** Secret settings of an installation, JSON, sealed to the row `<tenant_id>/<module_id>`. */
type SecretTable = { id: string; tenant_id: string; module_id: string; sealed: string }

/** A withdrawn version runs nowhere. */
type WithdrawalTable = { module_id: string; version: string; reason: string; withdrawn_at: string }

type UsageTable = {
  tenant_id: string
  module_id: string
  /** `2026-11`. */
  billing_period: string
  /** `idle`: the month had begun, and the module could not run. A month may have both. */
  event_type: 'active' | 'idle'
  quantity: number
  created_at: string
}

declare module '../db/database.ts' {
  interface Tables {
    module_installations: InstallationTable
    module_secrets: SecretTable
    module_withdrawals: WithdrawalTable
    usage_events: UsageTable
  }
}
