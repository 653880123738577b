import { sql } from 'kysely'

/** Snapshots with their repositories, drills and restores. */
export const snapshots = [
  sql`create table snapshots (
    tenant_id text not null,
    snapshot_id text not null,
    box_id text not null,
    slug text not null,
    tier text not null,
    taken_at text not null,
    command_id text,
    sha256 text,
    added_bytes bigint,
    files integer,
    duration_ms bigint,
    installed text,
    status text not null,
    damaged_by text,
    recorded_at text not null,
    constraint snapshots_id primary key (tenant_id, snapshot_id)
  )`,
  sql`create index snapshots_newest on snapshots (taken_at, snapshot_id)`,
  sql`create index snapshots_by_slug on snapshots (slug, taken_at, snapshot_id)`,
  sql`create index snapshots_of_tenant on snapshots (tenant_id, status, taken_at)`,
  sql`create table snapshot_drills (
    command_id text primary key,
    tenant_id text not null,
    snapshot_id text not null,
    at text not null,
    ok integer not null,
    duration_ms bigint,
    restore_ms bigint,
    error text,
    media text
  )`,
  sql`create index snapshot_drills_of on snapshot_drills (tenant_id, snapshot_id, at)`,
  sql`create index snapshot_drills_by_snapshot on snapshot_drills (snapshot_id)`,
  sql`create index snapshot_drills_by_time on snapshot_drills (at)`,
  sql`create table box_restores (
    command_id text primary key,
    tenant_id text not null,
    box_id text not null,
    slug text not null,
    snapshot_id text not null,
    reason text not null,
    status text not null,
    asked_at text not null,
    ended_at text,
    duration_ms bigint
  )`,
  sql`create index box_restores_of on box_restores (tenant_id, status)`,
  sql`create index box_restores_of_box on box_restores (box_id, status)`,
  sql`create index box_restores_by_status on box_restores (status, tenant_id)`,
  sql`create table snapshot_repositories (
    tenant_id text primary key,
    tended_at text,
    pruned_at text,
    checked_at text,
    data_checked_at text,
    unrecorded_from text,
    unrecorded_until text,
    repository_id text,
    lost_at text,
    lost_place text
  )`,
  sql`create table snapshot_tasks (
    tenant_id text not null,
    task text not null,
    asked_at text not null,
    until text not null,
    constraint snapshot_tasks_of primary key (tenant_id, task)
  )`,
  sql`create table snapshot_warm_copies (
    tenant_id text not null,
    snapshot_id text not null,
    taken_at text not null,
    constraint snapshot_warm_copies_of primary key (tenant_id, snapshot_id)
  )`,
]
