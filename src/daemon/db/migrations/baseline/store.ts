import { sql } from 'kysely'

/** The module store: developers, their artifacts and submissions, published versions, and ratings. */
export const store = [
  sql`create table store_invites (
    code_hash text primary key,
    created_by text not null,
    created_at text not null,
    expires_at text not null,
    used_at text,
    used_by text
  )`,
  sql`create index store_invites_by_end on store_invites (expires_at)`,
  sql`create table store_developers (
    id text primary key,
    tenant_id text not null references tenants (id),
    user_id text unique references users (id),
    email text not null,
    name text not null,
    organization text not null,
    verified integer not null,
    created_at text not null
  )`,
  sql`create table store_artifacts (
    id text primary key,
    developer_id text not null references store_developers (id),
    state text not null,
    bytes integer not null,
    sha256 text,
    created_at text not null
  )`,
  sql`create index store_artifacts_by_state on store_artifacts (state, created_at)`,
  sql`create index store_artifacts_by_developer on store_artifacts (developer_id, created_at)`,
  sql`create table store_submissions (
    id text primary key,
    developer_id text not null references store_developers (id),
    artifact_id text not null unique references store_artifacts (id),
    module_id text not null,
    name text not null,
    version text not null,
    status text not null,
    checksum text not null,
    manifest text not null,
    warnings text not null,
    scan text not null,
    test text not null,
    review text,
    created_at text not null,
    updated_at text not null
  )`,
  sql`create index store_submissions_own on store_submissions (developer_id, created_at, id)`,
  sql`create index store_submissions_open on store_submissions (status, created_at, id)`,
  sql`create index store_submissions_of_module on store_submissions (module_id, status)`,
  sql`create table store_modules (
    id text primary key,
    developer_id text not null references store_developers (id),
    feature_flag text not null unique,
    version text not null,
    submission_id text not null,
    approved_at text not null
  )`,
  sql`create table store_versions (
    module_id text not null references store_modules (id),
    version text not null,
    ordinal integer not null,
    developer_id text not null references store_developers (id),
    submission_id text not null,
    artifact_id text not null unique references store_artifacts (id),
    checksum text not null,
    manifest text not null,
    category text not null,
    search text not null,
    approved_at text not null,
    key_id text not null,
    signature text not null,
    constraint store_versions_key primary key (module_id, version)
  )`,
  sql`create index store_versions_newest on store_versions (module_id, ordinal)`,
  sql`create table store_ratings (
    id text not null unique,
    module_id text not null references store_modules (id),
    user_id text not null references users (id),
    tenant_id text not null references tenants (id),
    rating integer not null,
    comment text,
    created_at text not null,
    constraint store_ratings_key primary key (module_id, user_id)
  )`,
  sql`create index store_ratings_newest on store_ratings (module_id, created_at, user_id)`,
  sql`create index store_ratings_of_user on store_ratings (user_id)`,
]
