import { sql } from 'kysely'

/** Spaces with members and activity, files, and tasks. */
export const spaces = [
  sql`create table spaces (
    id text primary key,
    tenant_id text not null references tenants (id),
    name text not null,
    type text not null,
    visibility text not null,
    revision integer not null,
    chat_revision integer not null,
    chat_space_id text,
    chat_room_id text,
    created_by text not null,
    created_at text not null,
    updated_at text not null,
    deleted_at text
  )`,
  sql`create index spaces_of_tenant on spaces (tenant_id, id)`,
  sql`create index spaces_deleted on spaces (deleted_at) where deleted_at is not null`,
  sql`create table space_members (
    space_id text not null references spaces (id),
    user_id text not null references users (id),
    tenant_id text not null,
    role text not null,
    joined_at text not null,
    chat_joined_at text,
    chat_refused_at text,
    constraint space_members_key primary key (space_id, user_id)
  )`,
  sql`create index space_members_of_user on space_members (user_id)`,
  sql`create table space_activity (
    space_id text not null references spaces (id),
    seq bigint not null,
    tenant_id text not null,
    type text not null,
    actor_id text,
    ids text not null,
    at text not null,
    constraint space_activity_key primary key (space_id, seq)
  )`,
  sql`create index space_activity_by_time on space_activity (at)`,
  sql`create table folders (
    id text primary key,
    tenant_id text not null,
    space_id text not null references spaces (id),
    name text not null,
    created_by text not null,
    created_at text not null,
    constraint folders_of_space unique (space_id, name)
  )`,
  sql`create table files (
    id text primary key,
    tenant_id text not null,
    space_id text not null references spaces (id),
    folder_id text,
    name text not null,
    content_type text not null,
    shown_as text,
    bytes bigint not null,
    sha256 text,
    state text not null,
    created_by text not null,
    created_at text not null,
    updated_at text not null,
    deleted_at text,
    erase_at text,
    object_id text
  )`,
  sql`create index files_newest on files (space_id, state, created_at, id)`,
  sql`create index files_of_folder on files (folder_id)`,
  sql`create index files_to_erase on files (erase_at, id)`,
  sql`create index files_of_tenant on files (tenant_id, space_id, state, bytes)`,
  sql`create table file_usage (
    tenant_id text primary key references tenants (id),
    bytes bigint not null
  )`,
  sql`create table tasks (
    id text primary key,
    tenant_id text not null references tenants (id),
    external_id text,
    event_id text,
    space_id text,
    run_id text,
    title text not null,
    status text not null,
    assigned_role text,
    role_key text,
    assignee_id text references users (id),
    due_at text,
    escalation_level integer not null,
    escalated_at text,
    created_by text,
    created_at text not null,
    updated_at text not null
  )`,
  // Nulls differ from each other in a unique index, and tasks without an event must not.
  sql`create unique index tasks_external on tasks (tenant_id, coalesce(event_id, ''), external_id)`,
  sql`create index tasks_newest on tasks (tenant_id, created_at, id)`,
  sql`create index tasks_of_assignee on tasks (tenant_id, assignee_id, status)`,
  sql`create index tasks_of_role on tasks (tenant_id, role_key, status)`,
  sql`create index tasks_by_end on tasks (status, updated_at)`,
]
