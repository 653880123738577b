import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../../dialects.ts'

/** Installed modules with settings, documents, runs, services and usage. */
export const modules = (db: Kysely<unknown>) => [
  sql`create table module_installations (
    tenant_id text not null references tenants (id),
    module_id text not null,
    version text not null,
    status text not null,
    paused integer not null,
    permissions text not null,
    feature_flag text not null,
    settings text not null,
    generation integer not null,
    data_generation integer not null,
    data_version integer not null,
    data_bytes integer not null,
    busy_until text,
    former text,
    former_until text,
    remote text,
    upstream_host text,
    installed_at text not null,
    activated_at text,
    data_delete_at text,
    updated_at text not null,
    constraint module_installations_pk primary key (tenant_id, module_id)
  )`,
  sql`create index module_installations_of on module_installations (module_id, status, tenant_id)`,
  sql`create index module_installations_due on module_installations (data_delete_at) where data_delete_at is not null`,
  sql`create table module_secrets (
    id text primary key,
    tenant_id text not null references tenants (id),
    module_id text not null,
    sealed text not null
  )`,
  sql`create table module_withdrawals (
    module_id text not null,
    version text not null,
    reason text not null,
    withdrawn_at text not null,
    constraint module_withdrawals_pk primary key (module_id, version)
  )`,
  sql`create table usage_events (
    tenant_id text not null references tenants (id),
    module_id text not null,
    billing_period text not null,
    event_type text not null,
    quantity integer not null,
    created_at text not null,
    constraint usage_events_pk primary key (tenant_id, module_id, billing_period, event_type)
  )`,
  sql`create table module_documents (
    tenant_id text not null references tenants (id),
    module_id text not null,
    generation integer not null,
    key text not null,
    value text not null,
    version integer not null,
    bytes integer not null,
    constraint module_documents_pk primary key (tenant_id, module_id, generation, key)
  )`,
  sql`create table module_runs (
    id text primary key,
    tenant_id text not null references tenants (id),
    module_id text not null,
    version text not null,
    generation integer not null,
    kind text not null,
    event_type text,
    cause text,
    depth integer not null,
    delivery_id text,
    attempt integer not null,
    status text not null,
    ms integer not null,
    interpreter_ms integer not null,
    violations text not null,
    error text,
    log text not null,
    created_at text not null
  )`,
  sql`create index module_runs_newest on module_runs (tenant_id, module_id, created_at, id)`,
  sql`create index module_runs_at on module_runs (created_at)`,
  sql`create table module_publishing (
    tenant_id text not null references tenants (id),
    module_id text not null,
    minute text not null,
    published integer not null,
    notified_at text,
    constraint module_publishing_pk primary key (tenant_id, module_id)
  )`,
  sql`create table module_counters (
    module_id text not null,
    version text not null,
    minute text not null,
    bucket text not null,
    count integer not null,
    constraint module_counters_pk primary key (module_id, version, minute, bucket)
  )`,
  sql`create index module_counters_minute on module_counters (minute)`,
  sql`create table module_positions (
    tenant_id text not null references tenants (id),
    module_id text not null,
    seq integer not null,
    attempt integer not null,
    next_at text,
    delivery_id text,
    failing_since text,
    error text,
    skipped integer not null,
    skipped_at text,
    constraint module_positions_pk primary key (tenant_id, module_id)
  )`,
  sql`create index module_positions_next on module_positions (next_at) where next_at is not null`,
  sql`create table module_dead_letters (
    id text primary key,
    tenant_id text not null references tenants (id),
    module_id text not null,
    seq integer not null,
    event_type text not null,
    attempts integer not null,
    error text not null,
    created_at text not null
  )`,
  sql`create index module_dead_letters_newest on module_dead_letters (tenant_id, module_id, created_at, id)`,
  sql`create index module_dead_letters_at on module_dead_letters (created_at)`,
  sql`create index module_dead_letters_of_module on module_dead_letters (module_id, created_at, id)`,
  sql`create table module_upstreams (
    module_id text primary key,
    url text not null,
    sealed_secret text not null,
    failures integer not null,
    rest_until text,
    updated_at text not null,
    host text
  )`,
  // SQLite compares byte by byte already; its primary key serves.
  ...(dialectOf(db) === 'postgres'
    ? [sql`create index module_documents_keys on module_documents (tenant_id, module_id, generation, key collate "C")`]
    : []),
]
