import { sql } from 'kysely'
import type { Db } from '../../src/daemon/db/index.ts'

// A registry after years of use, generated in SQL. All records are finished or not yet due at the start of 2026, so that background
// work finds nothing to do.

/** Rows per table that grows with tenants, users, boxes or their history. */
const sizes = {
  tenants: 2000,
  hosts: 500,
  boxes: 2000,
  box_holds: 500,
  box_moves: 1000,
  box_removals: 1000,
  box_restores: 2000,
  box_secrets: 2000,
  homeserver_tokens: 2000,
  bot_tokens: 2000,
  users: 5000,
  user_passwords: 5000,
  sessions: 5000,
  refresh_tokens: 5000,
  user_login_failures: 2000,
  user_login_networks: 5000,
  login_failures: 2000,
  login_networks: 2000,
  admin_sessions: 2000,
  revocations: 2000,
  streams: 2000,
  events: 5000,
  audit: 5000,
  audit_heads: 50,
  alerts: 2000,
  alert_deliveries: 2000,
  jobs: 2000,
  job_queues: 2000,
  commands: 5000,
  spaces: 2000,
  space_members: 5000,
  space_activity: 5000,
  folders: 2000,
  files: 5000,
  file_usage: 2000,
  tasks: 5000,
  leases: 1000,
  cron_runs: 2000,
  rollouts: 1000,
  rollout_actions: 5000,
  rollout_attempts: 5000,
  rollout_plans: 1000,
  snapshots: 5000,
  snapshot_drills: 2000,
  snapshot_repositories: 2000,
  snapshot_warm_copies: 2000,
} as const

/** Audit heads exist per rollout: they are counted, not searched. */
export const grownTables: readonly string[] = Object.keys(sizes).filter((table) => table !== 'audit_heads')

const one = (table: keyof typeof sizes) => `'${table}_' || (n % ${sizes[table]})`
const past = `'2026-01-0' || (1 + n % 4) || 'T08:00:00.000Z'`
const ahead = `'2026-03-' || (10 + n % 20) || 'T08:00:00.000Z'`

/** Values by column name. Nullable columns without an entry are null. */
const columns: Readonly<Record<string, string>> = {
  tenant_id: one('tenants'),
  host_id: one('hosts'),
  box_id: one('boxes'),
  user_id: one('users'),
  session_id: one('sessions'),
  space_id: one('spaces'),
  folder_id: one('folders'),
  rollout_id: one('rollouts'),
  action_id: one('rollout_actions'),
  account_id: `'account_' || (n % 10)`,
  alert_id: `1000000 + n`,
  stream: `'tenant:' || ${one('tenants')}`,
  seq: `1 + n`,
  payload: `'{}'`,
  feature_flags: `'{}'`,
  data: `'{}'`,
  findings: `'[]'`,
  roles: `'["member"]'`,
  retired_instances: `'[]'`,
  public_key: `'{}'`,
  ids: `'{}'`,
  network: `'192.0.2.0/24'`,
  expires_at: ahead,
  forget_at: ahead,
  until: ahead,
  due_at: ahead,
  next_at: ahead,
  deadline_at: ahead,
  lease_until: ahead,
  finished_at: past,
  heard_at: past,
  used_at: past,
  reported_at: past,
}

/** Overrides per table. */
const words: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tenants: { plan: `'light'`, status: `'active'`, slug: `'slug-' || n`, chat_domain: `'chat.slug-' || n || '.example'` },
  hosts: { status: `'active'`, last_seen_at: past },
  boxes: { slug: `'slug-' || n`, live: '1', managed: '1', fenced: '0', drift_severity: `'none'`, last_report: `'{"a":"' || n || '"}'` },
  box_holds: { until: `'2025-12-10T08:00:00.000Z'` },
  box_moves: { state: `'done'`, from_copy: '0', to_copy: '0' },
  box_removals: { state: `'done'` },
  box_restores: { status: `'restored'` },
  users: { localpart: `'user-' || n`, status: `'active'`, search_name: `'user-' || n` },
  user_passwords: { user_id: one('users') },
  user_login_failures: { subject: `'user-' || n` },
  user_login_networks: { subject: `'user-' || n` },
  login_failures: { locked_until: 'null' },
  streams: { stream: `case when n < ${sizes.tenants} then 'tenant:' || ${one('tenants')} else 'rollout:' || ${one('rollouts')} || n end` },
  audit: { chain: `'rollout:' || (n % 50)` },
  audit_heads: { chain: `'rollout:' || n` },
  alerts: {
    id: '1000000 + n',
    key: `'key-' || n`,
    kind: `'box_down'`,
    severity: `'warning'`,
    status: `'closed'`,
    notified: '1',
    closed_at: past,
  },
  alert_deliveries: { status: `'sent'`, channel: `'mail'` },
  jobs: {
    ...{
      id: '1000000 + n',
      status: `case when n % 10 = 0 then 'queued' else 'dead' end`,
      queue: `'chat:' || (n % 1500)`,
      pool: `'chat'`,
      key: `'user-' || n`,
    },
    ...{ attempts: '0', created_at: `'2026-01-05T01:59:00.000Z'` },
  },
  job_queues: { queue: `'chat:' || n`, pool: `'chat'`, locked: '0' },
  commands: { kind: `'tenant-box.report_versions'`, status: `'succeeded'`, lease_until: 'null', progress: `'[]'` },
  spaces: { type: `'class'`, visibility: `'members'`, revision: '1', chat_revision: '1' },
  space_members: { role: `'member'` },
  files: { state: `'ready'`, folder_id: `case when n % 2 = 0 then ${one('folders')} end` },
  tasks: { status: `'open'`, external_id: `'task-' || n` },
  leases: { expires_at: past },
  cron_runs: { job_key: `'job-' || (n % 10)`, status: `'succeeded'`, started_at: past },
  revocations: { created_at: `'2026-01-05T01:00:00.000Z'` },
  rollouts: { kind: `'staged'`, status: `'completed'`, manifest: `'{}'`, digests: `'{}'` },
  rollout_actions: {
    slug: `'slug-' || n`,
    status: `'updated'`,
    phase: `'pro'`,
    images: `'{}'`,
    from_versions: `'{}'`,
    to_versions: `'{}'`,
  },
  rollout_attempts: { status: `'updated'` },
  snapshots: { status: `'present'`, slug: `'slug-' || (n % ${sizes.boxes})` },
}

type Column = Readonly<{ name: string; type: string; isNeeded: boolean }>

function filling(table: string, { name, type, isNeeded }: Column): string | undefined {
  const said = words[table]?.[name] ?? columns[name]
  if (said !== undefined) return said
  if (!isNeeded) return undefined
  if (/int/i.test(type)) return '1'
  if (/(^|_)(at|until|since)$/.test(name)) return past
  return name === 'id' ? `'${table}_' || n` : `'${name}-' || n`
}

const columnsOf = {
  sqlite: (db: Db, table: string) =>
    sql<Column>`select name, type, "notnull" = 1 or pk > 0 as "isNeeded" from pragma_table_info(${table})`.execute(db),
  postgres: (db: Db, table: string) =>
    sql<Column>`select attname as name, atttypid::regtype::text as type, attnotnull as "isNeeded" from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`.execute(db),
}

/** Fills a migrated database; references may point to missing rows. Existing rows stay. */
export async function growRegistry(db: Db, dialect: 'sqlite' | 'postgres'): Promise<void> {
  await db.connection().execute(async (own) => {
    const say = (text: string) => sql.raw(text).execute(own)
    await say(dialect === 'sqlite' ? 'pragma foreign_keys = off' : `set session_replication_role = 'replica'`)
    for (const [table, size] of Object.entries(sizes)) {
      const { rows } = await columnsOf[dialect](own, table)
      const named = rows.map((column) => [column.name, filling(table, column)] as const).filter(([, value]) => value !== undefined)
      const counted = `with recursive counted(n) as (select 0 union all select n + 1 from counted where n + 1 < ${size})`
      const into = `insert into ${table} (${named.map(([name]) => `"${name}"`).join(', ')})`
      const values = `select ${named.map(([, value]) => value).join(', ')} from counted`
      await say(dialect === 'sqlite' ? `${into} ${counted} ${values}` : `${counted} ${into} ${values}`)
    }
    await say(dialect === 'sqlite' ? 'pragma foreign_keys = on' : `set session_replication_role = 'origin'`)
    if (dialect === 'postgres') await say('analyze')
  })
}
