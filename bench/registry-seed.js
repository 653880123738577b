// A registry as it is after years, made by the database itself: a million users one by one through the verbs would take a day.
// Ids are in no order, as ids of the daemon are: what was made together does not lie together.
import { sql } from 'kysely'

const usersPerTenant = 100
/** Who is logged in just now. */
const usersPerSession = 5
const at = '2026-01-05T08:00:00.000Z'
const later = '2099-01-01T00:00:00.000Z'
const hosts = 10

/** Ten digits for the n-th of a table, each once, in no order. */
const idAt = (n) => 10_000_000_000 + ((n * 2_654_435_761) % 4_294_967_296)
export const idOf = (kind, n) => sql.raw(`'${kind}_' || (10000000000 + (cast(${n} as bigint) * 2654435761) % 4294967296)`)
const counted = (count) => sql.raw(`with recursive counted(n) as (select 0 union all select n + 1 from counted where n + 1 < ${count})`)
const slug = sql.raw(`'school-' || (100000 + n)`)
const tenantOfUser = idOf('ten', `(n / ${usersPerTenant})`)

/** What callers know of the n-th of those who are logged in. */
export const loggedIn = (nth) => {
  const n = nth * usersPerSession
  const [tenant, user] = [Math.floor(n / usersPerTenant), n % usersPerTenant]
  const slug = `school-${100_000 + tenant}`
  return {
    slug,
    chatDomain: `chat.${slug}.example`,
    localpart: `user-${1000 + user}`,
    tenantId: `ten_${idAt(tenant)}`,
    userId: `usr_${idAt(n)}`,
    sessionId: `ses_${idAt(nth)}`,
  }
}

const tables = [
  {
    table: 'tenants',
    columns: 'id, slug, chat_domain, name, plan, status, created_at, updated_at',
    of: ({ tenants }) => tenants,
    row: sql`${idOf('ten', 'n')}, ${slug}, 'chat.' || ${slug} || '.example', 'School ' || n, 'light', 'active', ${sql.lit(at)}, ${sql.lit(at)}`,
  },
  {
    table: 'hosts',
    columns: 'id, name, status, key_id, public_key, retired_instances, enrolled_at, key_since',
    of: () => hosts,
    row: sql`'host_' || n, 'host-' || n, 'active', 'key-' || n, '{}', '[]', ${sql.lit(at)}, ${sql.lit(at)}`,
  },
  {
    table: 'boxes',
    columns:
      'id, tenant_id, host_id, slug, live, managed, canary, fenced, ownership_epoch, public_url, findings, set_up_command, set_up_attempt, installed_migrations_head, installed_postgres, installed_synapse, installed_minio, drift_severity, drift_revision, created_at',
    of: ({ tenants }) => tenants,
    row: sql`${idOf('box', 'n')}, ${idOf('ten', 'n')}, 'host_' || (n % ${sql.lit(hosts)}), ${slug}, 1, 1, 0, 0, 1, 'https://chat.' || ${slug} || '.example', '[]', 'cmd_' || n, 1, '0000', '15', '1.157.1', '1', 'unknown', 0, ${sql.lit(at)}`,
  },
  {
    table: 'users',
    columns: 'id, tenant_id, localpart, display_name, locale, roles, status, created_at, updated_at',
    of: ({ users }) => users,
    row: sql`${idOf('usr', 'n')}, ${tenantOfUser}, 'user-' || (1000 + n % ${sql.lit(usersPerTenant)}), 'Person ' || n, 'de', '["member"]', 'active', ${sql.lit(at)}, ${sql.lit(at)}`,
  },
  {
    table: 'sessions',
    columns: 'id, tenant_id, user_id, device_name, network, created_at, used_at, expires_at',
    of: ({ users }) => users / usersPerSession,
    row: sql`${idOf('ses', 'n')}, ${idOf('ten', `(n * ${usersPerSession} / ${usersPerTenant})`)}, ${idOf('usr', `(n * ${usersPerSession})`)}, 'Phone', '192.0.2.0/24', ${sql.lit(at)}, ${sql.lit(at)}, ${sql.lit(later)}`,
  },
  {
    table: 'refresh_tokens',
    columns: 'hash, session_id, created_at, expires_at',
    of: ({ users }) => users / usersPerSession,
    row: sql`${idOf('hash', 'n')}, ${idOf('ses', 'n')}, ${sql.lit(at)}, ${sql.lit(later)}`,
  },
  {
    table: 'streams',
    columns: 'stream, seq',
    of: ({ tenants }) => tenants,
    row: sql`'tenant:' || ${idOf('ten', 'n')}, 1`,
  },
]

/** Fills a migrated database with so many users of a hundredth as many tenants, each of which has a box. */
export async function seedRegistry({ db, dialect }, users) {
  const size = { users, tenants: users / usersPerTenant }
  const say = async (...words) => {
    for (const one of words) await sql.raw(one).execute(db)
  }
  // Nothing of it need survive a power cut, and it is made once.
  if (dialect === 'sqlite') await say('pragma synchronous = off', 'pragma cache_size = -400000')
  for (const { table, columns, of, row } of tables)
    await sql`insert into ${sql.table(table)} (${sql.raw(columns)}) ${counted(of(size))} select ${row} from counted`.execute(db)
  if (dialect === 'sqlite') await say('pragma synchronous = full', 'pragma cache_size = -2000')
  else await say('analyze')
}
