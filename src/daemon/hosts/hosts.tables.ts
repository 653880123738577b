export type HostTable = {
  id: string
  name: string
  status: 'active' | 'frozen' | 'revoked'
  reason: string | null
  key_id: string
  public_key: string
  /** The running agent that said hello last. */
  instance_id: string | null
  /** JSON: the ones before it, newest first. One that speaks again proves that two agents use the key. */
  retired_instances: string
  enrolled_at: string
  last_seen_at: string | null
  agent_version: string | null
  protocol_version: number | null
  engine: string | null
  resources: string | null
  resources_at: string | null
  clock_offset_ms: number | null
  /** Since when `key_id` is the key. */
  key_since: string | null
  /** Announced to replace the key; its first use does it. */
  next_key_id: string | null
  next_public_key: string | null
  next_key_at: string | null
}

export type RegistryTable = {
  /** `host/registry`, where the host is `*` for all; the password is sealed to it. */
  id: string
  host_id: string | null
  registry: string
  mirror: string | null
  username: string | null
  sealed_password: string | null
  updated_at: string
  updated_by: string
}

type HostInviteTable = {
  token_sha256: string
  host_name: string
  created_at: string
  expires_at: string
  used_at: string | null
  /** Whose key used it: the same agent may ask again when the answer was lost. */
  used_by_key_id: string | null
}

export type CommandTable = {
  id: string
  host_id: string
  box_id: string
  kind: string
  payload: string
  status: 'queued' | 'leased' | 'running' | 'succeeded' | 'failed' | 'expired'
  /** Rises each time the command is handed out; what an older holder says is not heard. */
  lease_token: number
  lease_until: string | null
  /** When the holder was last heard of. */
  heard_at: string | null
  revision: number
  progress: string
  /** The first time of each step, as JSON; `progress` keeps the newest only. */
  steps: string
  result: string | null
  error: string | null
  created_at: string
  deadline_at: string
  started_at: string | null
  finished_at: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    hosts: HostTable
    host_invites: HostInviteTable
    commands: CommandTable
    registries: RegistryTable
  }
}
