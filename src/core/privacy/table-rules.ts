/**
 * The effect of an erasure on a column that may name the user. `replace`: its id, alone or inside JSON, becomes `erased user`. `clear`: the
 * column becomes null. `row`: the row is deleted. `feature`: the feature of the table does it.
 */
type ColumnErasure = 'replace' | 'clear' | 'row' | 'feature'

/** The column that holds the id of the tenant, or of a row in another table that belongs to it. */
type Owner = string | Readonly<{ column: string; of: string }>

type TableRule = Readonly<{
  /** How a row belongs to a tenant; null: the table holds nothing of tenants, or operators' records, which a tenant does not take along. */
  tenant: Owner | null
  /** The primary key of an exported table, in order. */
  export?: readonly string[]
  /** Not exported: secrets, or what only the platform needs. */
  internal?: true
  users?: Readonly<Record<string, ColumnErasure>>
  /** The rows that the export of one user has: those with its id in one of `by`. `omit`: columns that may have texts or names of others. */
  person?: Readonly<{ by: readonly string[]; omit?: readonly string[] }>
  /** Why a column that names a user stays, or why a table belongs to no tenant. */
  because?: string
}>

const ofTenant = 'tenant_id'
const viaBox: Owner = { column: 'box_id', of: 'boxes' }
const viaDeveloper: Owner = { column: 'developer_id', of: 'store_developers' }

const platform = (because: string): TableRule => ({ tenant: null, because })
const operators = platform('accounts and sign-ins of operators')
const hosts = platform('hosts and their keys belong to the platform')
const records = platform('a record of operators; names tenants by slug, users never')
const queue = platform('work of the platform; names users by id, or as a stranger typed their names, until it is done')

/** Every table of the database; one that references another stands behind it. A test fails for a table, or a column that names a user, without a rule. */
export const tableRules: Readonly<Record<string, TableRule>> = {
  // tenants and users
  tenants: { tenant: 'id', export: ['id'] },
  users: {
    tenant: ofTenant,
    export: ['id'],
    users: { id: 'feature' },
    because: 'the row stays without name and roles: it refuses the login, and after a restore of the box the account is erased again',
    person: { by: ['id'] },
  },
  user_passwords: { tenant: ofTenant, export: ['user_id'], users: { user_id: 'feature' }, person: { by: ['user_id'] } },
  sessions: { tenant: ofTenant, export: ['id'], users: { user_id: 'feature' }, person: { by: ['user_id'] } },
  refresh_tokens: { tenant: { column: 'session_id', of: 'sessions' }, internal: true },
  user_login_failures: platform('named by a hash; the feature deletes those of an erased user'),
  user_login_networks: platform('named by a hash; the feature deletes those of an erased user'),
  password_links: { tenant: ofTenant, export: ['id'], users: { user_id: 'row' }, person: { by: ['user_id'] } },
  support_access: { tenant: ofTenant, export: ['tenant_id'], users: { granted_by: 'replace' }, person: { by: ['granted_by'] } },
  maintenance_notices: { tenant: ofTenant, export: ['id'] },
  logos: { tenant: ofTenant, export: ['id'] },
  // spaces, files, tasks
  spaces: { tenant: ofTenant, export: ['id'], users: { created_by: 'replace' }, person: { by: ['created_by'] } },
  space_members: { tenant: ofTenant, export: ['space_id', 'user_id'], users: { user_id: 'feature' }, person: { by: ['user_id'] } },
  space_activity: {
    tenant: ofTenant,
    export: ['space_id', 'seq'],
    users: { actor_id: 'replace', ids: 'replace' },
    person: { by: ['actor_id'], omit: ['ids'] },
  },
  folders: { tenant: ofTenant, export: ['id'], users: { created_by: 'replace' }, person: { by: ['created_by'] } },
  files: { tenant: ofTenant, export: ['id'], users: { created_by: 'replace' }, person: { by: ['created_by'] } },
  file_usage: { tenant: ofTenant, export: ['tenant_id'] },
  tasks: {
    tenant: ofTenant,
    export: ['id'],
    users: { created_by: 'replace', assignee_id: 'clear' },
    person: { by: ['created_by', 'assignee_id'] },
  },
  // boards and runs
  boards: { tenant: ofTenant, export: ['id'], users: { created_by: 'replace' }, person: { by: ['created_by'] } },
  board_versions: { tenant: ofTenant, export: ['board_id', 'version'], users: { saved_by: 'replace' } },
  board_triggers: { tenant: ofTenant, export: ['board_id', 'trigger_id'] },
  trigger_occurrences: { tenant: ofTenant, export: ['board_id', 'occurrence'] },
  trigger_positions: { tenant: ofTenant, internal: true },
  chat_readers: { tenant: ofTenant, internal: true },
  runs: {
    tenant: ofTenant,
    export: ['id'],
    users: { started_by: 'replace', start_key: 'clear', trigger: 'replace', readers: 'replace', state: 'replace' },
    person: { by: ['started_by'], omit: ['trigger', 'readers', 'state'] },
  },
  run_history: {
    tenant: ofTenant,
    export: ['run_id', 'seq'],
    users: { by_user: 'replace', input: 'replace', key: 'clear', answer: 'replace' },
    person: { by: ['by_user'], omit: ['answer'] },
  },
  run_elements: { tenant: ofTenant, export: ['run_id', 'token_id'], users: { approvals: 'replace', starter_id: 'clear' } },
  run_timers: { tenant: ofTenant, export: ['run_id', 'token_id', 'name'] },
  run_messages: { tenant: ofTenant, export: ['run_id', 'token_id'], users: { body: 'replace' } },
  run_reports: { tenant: ofTenant, export: ['id'], users: { markdown: 'replace' } },
  // automation
  automation_rooms: { tenant: ofTenant, export: ['tenant_id', 'event_id'], users: { members: 'replace' } },
  automation_calls: { tenant: ofTenant, internal: true, users: { answer: 'row' } },
  automation_credentials: { tenant: ofTenant, internal: true },
  automation_key_tenants: { tenant: ofTenant, internal: true },
  automation_keys: platform('keys of operators, valid for several tenants'),
  // store of modules
  store_developers: { tenant: ofTenant, export: ['id'], users: { user_id: 'feature' }, person: { by: ['user_id'] } },
  store_artifacts: { tenant: viaDeveloper, export: ['id'] },
  store_submissions: { tenant: viaDeveloper, export: ['id'], users: { review: 'feature' } },
  store_modules: { tenant: viaDeveloper, export: ['id'] },
  store_versions: { tenant: viaDeveloper, export: ['module_id', 'version'] },
  store_ratings: { tenant: ofTenant, export: ['module_id', 'user_id'], users: { user_id: 'row' }, person: { by: ['user_id'] } },
  store_invites: platform('one-use codes of operators'),
  // modules of tenants
  module_installations: { tenant: ofTenant, export: ['tenant_id', 'module_id'], users: { settings: 'replace' } },
  module_secrets: { tenant: ofTenant, internal: true },
  module_documents: { tenant: ofTenant, export: ['tenant_id', 'module_id', 'generation', 'key'], users: { value: 'replace' } },
  module_runs: { tenant: ofTenant, export: ['id'], users: { cause: 'replace', error: 'replace', log: 'replace' } },
  module_positions: { tenant: ofTenant, internal: true },
  module_publishing: { tenant: ofTenant, internal: true },
  module_dead_letters: { tenant: ofTenant, export: ['id'], users: { error: 'replace' } },
  module_counters: platform('counts of runs by module and minute, of all tenants'),
  module_withdrawals: platform('versions that operators withdrew'),
  module_upstreams: platform('services of modules, set by operators'),
  usage_events: { tenant: ofTenant, export: ['tenant_id', 'module_id', 'billing_period', 'event_type'] },
  // marketplace; one that references another stands behind it
  marketplace_vendors: platform('vendors of the platform; they have no account of a tenant'),
  marketplace_items: platform('items of vendors, for all tenants'),
  marketplace_submissions: platform('sent by strangers without an account, deleted a year after a rejection; reviewers are operators'),
  marketplace_intake: platform('counts by address, deleted after a day'),
  marketplace_screenshots: platform('pictures of submissions'),
  vendor_links: platform('links of vendors with their address, deleted when they end'),
  vendor_sessions: platform('sessions of vendors with their address, deleted when they end'),
  marketplace_subscriptions: { tenant: ofTenant, export: ['id'], users: { installed_by: 'replace' }, person: { by: ['installed_by'] } },
  payment_attempts: { tenant: ofTenant, internal: true },
  payment_links: { tenant: ofTenant, export: ['payment_subscription_id'] },
  billing_active_users: {
    tenant: ofTenant,
    export: ['tenant_id', 'month', 'user_id'],
    users: { user_id: 'feature' },
    person: { by: ['user_id'] },
  },
  billing_spans: { tenant: ofTenant, export: ['payment_subscription_id', 'from_at'] },
  billing_reports: { tenant: ofTenant, export: ['id'] },
  billing_usage: { tenant: ofTenant, export: ['id'] },
  billing_warnings: { tenant: ofTenant, internal: true },
  tenant_billing: { tenant: ofTenant, export: ['tenant_id'] },
  billing_payouts: platform('statements of developers, kept after their tenant'),
  billing_developers: platform('the vendor of a developer, set by operators'),
  payment_refunds: platform('refunds by invoice: ids and amounts alone'),
  payment_events: platform('events of the payment provider: ids and types alone, deleted after 90 days'),
  // events hold ids and no content
  events: { tenant: ofTenant, export: ['stream', 'seq'], because: 'holds ids alone, and is deleted after 90 days' },
  streams: platform('counters'),
  stream_places: platform('no longer written; a later release drops it'),
  stream_replicas: platform('no longer written; a later release drops it'),
  budget_episodes: { tenant: ofTenant, internal: true },
  // boxes of a tenant
  boxes: { tenant: ofTenant, internal: true },
  box_holds: { tenant: viaBox, internal: true },
  box_imports: { tenant: viaBox, internal: true },
  box_moves: { tenant: viaBox, internal: true },
  box_removals: { tenant: viaBox, internal: true },
  box_sizes: { tenant: viaBox, internal: true },
  box_secrets: { tenant: viaBox, internal: true },
  homeserver_tokens: { tenant: viaBox, internal: true },
  bot_tokens: { tenant: viaBox, internal: true },
  chat_token_renewals: { tenant: viaBox, internal: true },
  commands: { tenant: viaBox, internal: true },
  command_lines: { tenant: viaBox, internal: true },
  box_restores: { tenant: ofTenant, internal: true },
  snapshots: { tenant: ofTenant, internal: true },
  archive_parts: { tenant: ofTenant, internal: true },
  archive_states: { tenant: ofTenant, internal: true },
  upgrade_rehearsals: { tenant: ofTenant, internal: true },
  snapshot_drills: { tenant: ofTenant, internal: true },
  snapshot_repositories: { tenant: ofTenant, internal: true },
  snapshot_tasks: { tenant: ofTenant, internal: true },
  snapshot_warm_copies: { tenant: ofTenant, internal: true },
  // records of operators
  audit: platform('a chain of hashes: a changed entry would break its proof; it names operators, and users by id and login name'),
  audit_heads: platform('the ends of the audit chains'),
  alerts: platform('names a user by login name while its account differs from the chat; deleted with the alert'),
  alert_deliveries: platform('deliveries of alerts'),
  rollouts: records,
  rollout_actions: records,
  rollout_attempts: records,
  rollout_plans: records,
  manifests: records,
  // the platform
  admin_accounts: operators,
  admin_cli_logins: operators,
  admin_passkey_challenges: operators,
  admin_passkeys: operators,
  admin_recovery_codes: operators,
  admin_sessions: operators,
  api_tokens: operators,
  approval_failures: operators,
  login_failures: operators,
  login_networks: operators,
  signing_keys: platform('keys of the platform'),
  revocations: queue,
  jobs: queue,
  job_queues: queue,
  leases: queue,
  schema_migrations: platform('the version of the schema'),
  schema_migrations_lock: platform('the version of the schema'),
  cron_jobs: platform('times of the platform'),
  cron_runs: platform('times of the platform'),
  hosts: hosts,
  host_former_keys: hosts,
  host_invites: hosts,
  platform_addresses: hosts,
  registries: hosts,
}
