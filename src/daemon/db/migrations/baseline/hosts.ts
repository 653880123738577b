import { sql } from 'kysely'

/** Hosts with their keys, enrolment tokens, the commands that their agents fetch, and registries. */
export const hosts = [
  sql`create table hosts (
    id text primary key,
    name text not null unique,
    status text not null,
    reason text,
    key_id text not null unique,
    public_key text not null,
    instance_id text,
    retired_instances text not null,
    enrolled_at text not null,
    last_seen_at text,
    agent_version text,
    protocol_version integer,
    engine text,
    resources text,
    key_since text,
    next_key_id text,
    next_public_key text,
    next_key_at text,
    resources_at text,
    clock_offset_ms bigint
  )`,
  sql`create unique index hosts_by_next_key on hosts (next_key_id)`,
  sql`create table host_invites (
    token_sha256 text primary key,
    host_name text not null,
    created_at text not null,
    expires_at text not null,
    used_at text,
    used_by_key_id text
  )`,
  sql`create table host_former_keys (
    key_id text primary key,
    host_id text not null references hosts (id),
    public_key text not null,
    replaced_at text not null,
    replaced_by text
  )`,
  sql`create index host_former_keys_by_host on host_former_keys (host_id)`,
  sql`create table commands (
    id text primary key,
    host_id text not null references hosts (id),
    box_id text not null,
    kind text not null,
    payload text not null,
    status text not null,
    lease_token integer not null,
    lease_until text,
    heard_at text,
    revision integer not null,
    progress text not null,
    result text,
    error text,
    created_at text not null,
    deadline_at text not null,
    started_at text,
    finished_at text,
    steps text not null default '[]'
  )`,
  sql`create index commands_by_box on commands (box_id, status)`,
  sql`create index commands_by_status on commands (status, deadline_at)`,
  sql`create index commands_by_end on commands (finished_at)`,
  sql`create index commands_of_host on commands (host_id, status, deadline_at)`,
  sql`create index commands_of_box on commands (box_id, created_at, id)`,
  sql`create index commands_by_kind on commands (kind, finished_at)`,
  sql`create table registries (
    id text primary key,
    host_id text references hosts (id),
    registry text not null,
    mirror text,
    username text,
    sealed_password text,
    updated_at text not null,
    updated_by text not null
  )`,
  sql`create table platform_addresses (
    host_id text primary key references hosts (id),
    address text not null,
    updated_at text not null,
    updated_by text not null
  )`,
]
