import { sql } from 'kysely'

/** Tenants, their users with passwords and sessions, and the support access that a tenant grants. */
export const tenantsAndUsers = [
  sql`create table tenants (
    id text primary key,
    slug text not null unique,
    chat_domain text not null unique,
    name text not null,
    plan text not null,
    status text not null,
    created_at text not null,
    time_zone text,
    maintenance_window text,
    school_id text,
    org_id text,
    branding text,
    payment_customer_id text,
    suspended_reason text,
    updated_at text,
    feature_flags text not null default '{}',
    billing_email text,
    suspended_cause text,
    resumed_until text
  )`,
  sql`create index tenants_with_window on tenants (id) where maintenance_window is not null`,
  sql`create unique index tenants_payment_customer on tenants (payment_customer_id)`,
  sql`create table users (
    id text primary key,
    tenant_id text not null references tenants (id),
    localpart text not null,
    display_name text,
    locale text,
    avatar_url text,
    roles text not null,
    status text not null,
    created_at text not null,
    updated_at text not null,
    password_unknown_since text,
    search_name text not null default '',
    password_version integer not null default 0,
    password_lease_until text,
    constraint users_of_tenant unique (tenant_id, localpart)
  )`,
  sql`create index users_without_password on users (tenant_id, password_unknown_since, localpart)`,
  sql`create index users_by_name on users (tenant_id, search_name, id)`,
  sql`create table user_passwords (
    user_id text primary key,
    tenant_id text not null,
    set_at text not null,
    old_since text
  )`,
  sql`create index user_passwords_of_tenant on user_passwords (tenant_id, old_since)`,
  sql`create table sessions (
    id text primary key,
    tenant_id text not null references tenants (id),
    user_id text not null references users (id),
    device_name text not null,
    network text not null,
    created_at text not null,
    used_at text not null,
    expires_at text not null,
    ended_at text,
    ended_by text
  )`,
  sql`create index sessions_of_user on sessions (user_id, created_at)`,
  sql`create index sessions_of_tenant on sessions (tenant_id, created_at)`,
  sql`create index sessions_by_expiry on sessions (expires_at)`,
  sql`create table refresh_tokens (
    hash text primary key,
    session_id text not null references sessions (id),
    parent_hash text,
    created_at text not null,
    expires_at text not null,
    used_at text,
    successor_salt text
  )`,
  sql`create index refresh_tokens_of_session on refresh_tokens (session_id)`,
  sql`create index refresh_tokens_of_parent on refresh_tokens (parent_hash)`,
  sql`create table user_login_failures (
    subject text not null,
    network text not null,
    failures integer not null,
    pending integer not null,
    pending_at text not null,
    until text not null,
    constraint user_login_failures_pk primary key (subject, network)
  )`,
  sql`create index user_login_failures_until on user_login_failures (until)`,
  sql`create table user_login_networks (
    subject text not null,
    network text not null,
    last_login_at text not null,
    constraint user_login_networks_pk primary key (subject, network)
  )`,
  sql`create index user_login_networks_last on user_login_networks (last_login_at)`,
  sql`create table support_access (
    tenant_id text primary key references tenants (id),
    granted_by text not null,
    expires_at text not null
  )`,
]
