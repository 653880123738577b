type AutomationKeyTable = {
  id: string
  /** Unique. */
  name: string
  hash: string
  prefix: string
  created_by: string
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

/** The tenants that a key may act for. */
type AutomationKeyTenantTable = { key_id: string; tenant_id: string }

/** Calls with an Idempotency-Key of the last 24 hours. */
type AutomationCallTable = {
  tenant_id: string
  operation: string
  key_hash: string
  request_hash: string
  /** JSON; null while the call runs. */
  answer: string | null
  /** A call that has not finished by then died with its process. */
  lock_until: string
  created_at: string
}

/** The chat room of an event; one for each event of a tenant. */
export type AutomationRoomTable = {
  tenant_id: string
  event_id: string
  /** Null until the chat server has made it. */
  room_id: string | null
  name: string
  topic: string | null
  /** JSON: ids of the users who become members. */
  members: string
  created_at: string
}

/** The chat token of a tenant's automation user. */
type AutomationCredentialTable = { tenant_id: string; sealed: string; issued_at: string }

declare module '../db/database.ts' {
  interface Tables {
    automation_keys: AutomationKeyTable
    automation_key_tenants: AutomationKeyTenantTable
    automation_calls: AutomationCallTable
    automation_rooms: AutomationRoomTable
    automation_credentials: AutomationCredentialTable
  }
}
