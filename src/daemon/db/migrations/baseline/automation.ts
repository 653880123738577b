import { sql } from 'kysely'

/** Keys of automations, their calls, and the rooms and credentials that they use. */
export const automation = [
  sql`create table automation_keys (
    id text primary key,
    name text not null unique,
    hash text not null unique,
    prefix text not null,
    created_by text not null,
    created_at text not null,
    expires_at text,
    last_used_at text
  )`,
  sql`create table automation_key_tenants (
    key_id text not null references automation_keys (id),
    tenant_id text not null,
    constraint automation_key_tenants_pk primary key (key_id, tenant_id)
  )`,
  sql`create table automation_calls (
    tenant_id text not null,
    operation text not null,
    key_hash text not null,
    request_hash text not null,
    answer text,
    lock_until text not null,
    created_at text not null,
    constraint automation_calls_pk primary key (tenant_id, operation, key_hash)
  )`,
  sql`create index automation_calls_by_age on automation_calls (created_at)`,
  sql`create table automation_rooms (
    tenant_id text not null,
    event_id text not null,
    room_id text,
    name text not null,
    topic text,
    members text not null,
    created_at text not null,
    constraint automation_rooms_pk primary key (tenant_id, event_id)
  )`,
  sql`create index automation_rooms_by_room on automation_rooms (tenant_id, room_id)`,
  sql`create table automation_credentials (
    tenant_id text primary key,
    sealed text not null,
    issued_at text not null
  )`,
]
