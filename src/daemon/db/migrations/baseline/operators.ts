import { type Kysely, sql } from 'kysely'
import { autoIdType } from '../../dialects.ts'

/** Accounts, sessions and API tokens of operators, signing keys, the audit log, and alerts. */
export const operators = (db: Kysely<unknown>) => [
  sql`create table admin_accounts (
    id text primary key,
    name text not null unique,
    role text not null,
    status text not null,
    password_hash text,
    initial_password_expires_at text,
    totp_secret text,
    totp_confirmed_at text,
    totp_step bigint,
    last_login_at text,
    created_at text not null,
    created_by text not null
  )`,
  sql`create table admin_recovery_codes (
    account_id text not null references admin_accounts (id),
    hash text not null,
    used_at text,
    constraint admin_recovery_codes_pk primary key (account_id, hash)
  )`,
  sql`create table admin_sessions (
    id text primary key,
    account_id text not null references admin_accounts (id),
    address text not null,
    created_at text not null,
    expires_at text not null,
    revoked_at text,
    cookie_hash text,
    last_used_at text,
    proven_at text
  )`,
  sql`create index admin_sessions_account on admin_sessions (account_id)`,
  sql`create index admin_sessions_by_expiry on admin_sessions (expires_at)`,
  sql`create unique index admin_sessions_cookie on admin_sessions (cookie_hash)`,
  sql`create table api_tokens (
    id text primary key,
    name text not null unique,
    role text not null,
    prefix text not null,
    hash text not null unique,
    account_id text not null references admin_accounts (id),
    created_at text not null,
    expires_at text not null,
    last_used_at text
  )`,
  sql`create table login_failures (
    name_hash text not null,
    network text not null,
    failures integer not null,
    forget_at text not null,
    locked_until text,
    constraint login_failures_pk primary key (name_hash, network)
  )`,
  sql`create index login_failures_forget on login_failures (forget_at)`,
  sql`create table login_networks (
    name_hash text not null,
    network text not null,
    last_login_at text not null,
    constraint login_networks_pk primary key (name_hash, network)
  )`,
  sql`create index login_networks_last on login_networks (last_login_at)`,
  sql`create table signing_keys (
    kid text primary key,
    audience text not null,
    generation integer not null,
    public_jwk text not null,
    private_jwk text not null,
    created_at text not null,
    sign_from text not null,
    verify_until text,
    constraint signing_keys_generation unique (audience, generation)
  )`,
  sql`create table revocations (
    seq bigint primary key,
    kind text not null,
    subject text not null,
    created_at text not null
  )`,
  sql`create index revocations_by_time on revocations (created_at)`,
  sql`create table audit (
    chain text not null,
    seq bigint not null,
    at text not null,
    actor text not null,
    action text not null,
    subject text,
    data text not null,
    previous_hash text not null,
    hash text not null,
    constraint audit_pk primary key (chain, seq)
  )`,
  sql`create index audit_of_subject on audit (subject, seq)`,
  sql`create table audit_heads (
    chain text primary key,
    seq bigint not null,
    hash text not null
  )`,
  sql`create table alerts (
    id ${autoIdType(db)} primary key,
    kind text not null,
    key text not null,
    open_key text unique,
    subject text not null,
    severity text not null,
    status text not null,
    title text not null,
    body text not null,
    command text not null,
    standing integer not null,
    count integer not null,
    first_at text not null,
    last_at text not null,
    notified_at text,
    notified integer not null,
    acknowledged_at text,
    acknowledged_by text,
    closed_at text,
    closed_because text
  )`,
  sql`create index alerts_by_status on alerts (status, last_at)`,
  sql`create index alerts_by_subject on alerts (subject, status)`,
  sql`create index alerts_newest on alerts (last_at, id)`,
  sql`create table alert_deliveries (
    id text primary key,
    alert_id bigint not null references alerts (id) on delete cascade,
    channel text not null,
    target text not null,
    status text not null,
    attempts integer not null,
    last_error text,
    created_at text not null,
    sent_at text
  )`,
  sql`create index alert_deliveries_of on alert_deliveries (alert_id)`,
  sql`create index alert_deliveries_by_status on alert_deliveries (status)`,
]
