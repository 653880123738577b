import { type Kysely, sql } from 'kysely'
import { autoIdType } from '../../dialects.ts'

/** Leases, ordered event streams, jobs, crons, and episodes of exceeded budgets. */
export const work = (db: Kysely<unknown>) => [
  sql`create table leases (
    name text primary key,
    holder text not null,
    token bigint not null,
    expires_at text not null
  )`,
  sql`create table streams (
    stream text primary key,
    seq bigint not null
  )`,
  sql`create table events (
    stream text not null,
    seq bigint not null,
    source text not null,
    event_type text not null,
    payload text not null,
    created_at text not null,
    tenant_id text,
    audience text,
    constraint events_pk primary key (stream, seq)
  )`,
  sql`create index events_created on events (created_at)`,
  sql`create table stream_replicas (
    replica text primary key,
    lease_until text not null
  )`,
  sql`create table stream_places (
    user_id text not null,
    replica text not null,
    open integer not null,
    constraint stream_places_pk primary key (user_id, replica)
  )`,
  sql`create index stream_places_of_replica on stream_places (replica)`,
  sql`create table jobs (
    id ${autoIdType(db)} primary key,
    topic text not null,
    payload text not null,
    status text not null,
    attempts integer not null,
    next_at text not null,
    last_error text,
    created_at text not null,
    pool text not null,
    queue text not null,
    key text,
    run_at text
  )`,
  sql`create index jobs_by_status on jobs (status, id)`,
  // By status alone a planner would read all waiting jobs to find the few of one queue.
  sql`create index jobs_next on jobs (queue, status, attempts, next_at, id)`,
  sql`create index jobs_of_key on jobs (queue, key, id)`,
  sql`create table job_queues (
    queue text primary key,
    pool text not null,
    due_at text not null,
    locked integer not null,
    token bigint not null,
    failures integer not null
  )`,
  sql`create index job_queues_due on job_queues (pool, due_at)`,
  sql`create table cron_jobs (
    job_key text primary key,
    served_until text not null
  )`,
  sql`create table cron_runs (
    id text primary key,
    job_key text not null references cron_jobs (job_key),
    occurrence text not null,
    status text not null,
    started_at text not null,
    finished_at text,
    duration_ms bigint,
    message text,
    holder text,
    lease_until text,
    constraint cron_runs_occurrence unique (job_key, occurrence)
  )`,
  sql`create index cron_runs_history on cron_runs (job_key, started_at)`,
  sql`create index cron_runs_held on cron_runs (lease_until) where lease_until is not null`,
  sql`create table budget_episodes (
    tenant_id text primary key references tenants (id) on delete cascade,
    since text not null,
    last_above_at text not null,
    notified integer not null
  )`,
]
