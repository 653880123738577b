export type HostTable = {
  id: string
  name: string
  status: 'active' | 'frozen' | 'revoked'
  reason: string | null
  key_id: string
  public_key: string
  /** The agent instance of the latest hello. */
  instance_id: string | null
  /** JSON: former instances, newest first. A call by one proves that two agents use the key. */
  retired_instances: string
  enrolled_at: string
  last_seen_at: string | null
  agent_version: string | null
  protocol_version: number | null
  engine: string | null
  resources: string | null
  resources_at: string | null
  clock_offset_ms: number | null
  /** JSON: free bytes, hourly, of the last week. */
  disk_samples: string | null
  key_since: string | null
  /** Replaces the key on its first use. */
  next_key_id: string | null
  next_public_key: string | null
  next_key_at: string | null
}

export type RegistryTable = {
  /** `host/registry`, host `*` for all; bound to the sealed password. */
  id: string
  host_id: string | null
  registry: string
  mirror: string | null
  username: string | null
  sealed_password: string | null
  updated_at: string
  updated_by: string
}

type FormerKeyTable = {
  key_id: string
  host_id: string
  public_key: string
  replaced_at: string
  /** The agent instance that first used the next key. */
  replaced_by: string | null
}

type HostInviteTable = {
  token_sha256: string
  host_name: string
  created_at: string
  expires_at: string
  used_at: string | null
  /** The same key may repeat the enrolment after a lost response. */
  used_by_key_id: string | null
}

export type CommandTable = {
  id: string
  host_id: string
  box_id: string
  kind: string
  payload: string
  status: 'queued' | 'leased' | 'running' | 'succeeded' | 'failed' | 'expired'
  /** Fencing token: incremented with each lease; calls with an older one are refused. */
  lease_token: number
  lease_until: string | null
  /** Last sign of life of the leasing agent. */
  heard_at: string | null
  revision: number
  progress: string
  /** JSON: the first time of each step; `progress` has only the newest entries. */
  steps: string
  result: string | null
  error: string | null
  created_at: string
  deadline_at: string
  /** The trace in which it was queued. */
  trace: string | null
  started_at: string | null
  finished_at: string | null
}

/** Log lines that a follower has not read yet. `batch`: a `LogBatch` as JSON. */
type CommandLinesTable = { command_id: string; seq: number; box_id: string; batch: string }

declare module '../db/database.ts' {
  interface Tables {
    hosts: HostTable
    host_invites: HostInviteTable
    host_former_keys: FormerKeyTable
    commands: CommandTable
    command_lines: CommandLinesTable
    registries: RegistryTable
  }
}
