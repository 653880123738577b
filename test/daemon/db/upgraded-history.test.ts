import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { reaches } from '../../../src/core/events/index.ts'
import { type Db, eventsAfter, migrate, openDatabase } from '../../../src/daemon/db/index.ts'
import { migrations } from '../../../src/daemon/db/migrations/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'

const at = (hour: number) => new Date(Date.UTC(2026, 0, 5, hour)).toISOString()
const before = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === '0031-look-back'),
)

/** The tenant `acme` with these users, as an older daemon stored it. */
async function anOlderDatabase(dialect: string, users: readonly string[]): Promise<Db> {
  const { db, close } = openDatabase(dialect === 'sqlite' ? 'sqlite::memory:' : await createPostgresDatabase())
  onTestFinished(close)
  await migrate(db, before)
  await sql`insert into tenants (id, slug, chat_domain, name, plan, status, created_at)
    values ('ten_1', 'acme', 'acme.example', 'Acme', 'light', 'active', ${at(0)})`.execute(db)
  for (const name of users)
    await sql`insert into users (id, tenant_id, localpart, roles, status, created_at, updated_at)
      values (${`usr_${name}`}, 'ten_1', ${name}, '[]', 'active', ${at(1)}, ${at(1)})`.execute(db)
  return db
}

async function store(db: Db, events: readonly (readonly [type: string, payload: object, audience: unknown])[]): Promise<void> {
  for (const [n, [type, payload, audience]] of events.entries())
    await sql`insert into events (stream, seq, source, event_type, payload, created_at, tenant_id, audience) values
      ('tenant:ten_1', ${n + 1}, 'core', ${type}, ${JSON.stringify(payload)}, ${at(2)}, 'ten_1', ${JSON.stringify(audience)})`.execute(db)
}

async function audit(db: Db, acts: readonly (readonly [action: string, subject: string | null, hour: number])[]): Promise<void> {
  const rows = acts.map(
    ([action, subject, hour], n) => sql`('admin', ${n + 1}, ${at(hour)}, 'system:test', ${action}, ${subject}, '{}', 'x', 'y')`,
  )
  await sql`insert into audit (chain, seq, at, actor, action, subject, data, previous_hash, hash) values ${sql.join(rows)}`.execute(db)
}

const reader = (userId: string, capabilities: readonly 'readContacts'[] = []) => ({ userId, roles: ['parent'], capabilities })

test.each(['sqlite', 'postgres'])('stored events about users are replayed only to viewers who may see them, on %s', async (dialect) => {
  const db = await anOlderDatabase(dialect, ['anna', 'ben'])
  await sql`insert into spaces (id, tenant_id, name, type, visibility, created_by, created_at, updated_at, revision, chat_revision)
    values ('spc_1', 'ten_1', '4b', 'CLASSROOM', 'PRIVATE', 'usr_anna', ${at(1)}, ${at(1)}, 1, 1)`.execute(db)
  await sql`insert into space_members (space_id, user_id, tenant_id, role, joined_at) values ('spc_1', 'usr_anna', 'ten_1', 'member', ${at(1)})`.execute(
    db,
  )
  const types = ['user.created', 'user.enabled', 'user.disabled', 'user.roles_changed', 'user.contact_changed', 'user.profile_changed']
  const ofBen = Array.from({ length: 501 }, () => ['user.enabled', { userId: 'usr_ben' }, 'tenant'] as const)
  const ofAnna = types.map((type) => [type, { userId: 'usr_anna' }, 'tenant'] as const)
  const others = [
    ['user.enabled', { userId: 'usr_anna' }, { users: ['usr_anna'] }],
    ['space.created', { spaceId: 'spc_1' }, 'tenant'],
  ] as const
  await store(db, [...ofBen, ...ofAnna, ...others])
  await migrate(db)
  const stored = [
    ...(await eventsAfter(db, { stream: 'tenant:ten_1', after: 0, limit: 400 })),
    ...(await eventsAfter(db, { stream: 'tenant:ten_1', after: 400, limit: 400 })),
  ]
  expect(new Set(stored.slice(0, 501).map(({ audience }) => JSON.stringify(audience)))).toEqual(
    new Set([JSON.stringify({ users: ['usr_ben'], capability: 'readContacts' })]),
  )
  const isMember = (spaceId: string, userId: string) => spaceId === 'spc_1' && userId === 'usr_cem'
  const hear = stored.slice(501).map(({ eventType, audience }) => {
    const readers = [reader('usr_anna'), reader('usr_cem'), reader('usr_office', ['readContacts']), reader('usr_ben')]
    return [eventType, ...readers.map((one) => reaches(audience, one, isMember))]
  })
  expect(hear).toEqual([
    ...types.slice(0, 5).map((type) => [type, true, true, true, false]),
    ['user.profile_changed', true, false, false, false],
    ['user.enabled', true, false, false, false],
    ['space.created', true, true, true, true],
  ])
})

test.each(['sqlite', 'postgres'])('passwords set before they were recorded are known from the audit log, on %s', async (dialect) => {
  const names = ['anna', 'ben', 'cem', 'a/b', 'dora']
  const db = await anOlderDatabase(dialect, names)
  await sql`insert into user_passwords (user_id, tenant_id, set_at, old_since) values ('usr_dora', 'ten_1', ${at(9)}, ${at(10)})`.execute(
    db,
  )
  const many = Array.from({ length: 501 }, () => ['user.password-changed', 'acme/anna', 3] as const)
  await audit(db, [
    ['user.password-reset', 'acme/cem', 0], // one of that name who is gone
    ...many,
    ['user.created', 'acme/ben', 4],
    ['user.password-reset', 'acme/anna', 5],
    ['user.password-changed', 'acme/a/b', 6],
    ['user.password-changed', 'acme/dora', 6],
    ['user.password-changed', 'acme/nobody', 6],
    ['user.password-changed', 'other/anna', 7],
  ])
  await migrate(db)
  expect(await db.selectFrom('user_passwords').selectAll().orderBy('user_id').execute()).toEqual([
    { user_id: 'usr_a/b', tenant_id: 'ten_1', set_at: at(6), old_since: null },
    { user_id: 'usr_anna', tenant_id: 'ten_1', set_at: at(5), old_since: null },
    { user_id: 'usr_dora', tenant_id: 'ten_1', set_at: at(9), old_since: at(10) },
  ])
})

/** The run `run_1` of the tenant `ten_1`, as a daemon before this migration stored it. */
async function aRunBefore(dialect: string, migration: string): Promise<Db> {
  const { db, close } = openDatabase(dialect === 'sqlite' ? 'sqlite::memory:' : await createPostgresDatabase())
  onTestFinished(close)
  const last = migrations.findIndex(({ name }) => name === migration)
  await migrate(db, migrations.slice(0, last))
  await sql`insert into tenants (id, slug, chat_domain, name, plan, status, created_at)
    values ('ten_1', 'acme', 'acme.example', 'Acme', 'light', 'active', ${at(0)})`.execute(db)
  await sql`insert into boards (id, tenant_id, name, description, status, version, created_at, updated_at)
    values ('brd_1', 'ten_1', 'Crisis', '', 'active', 1, ${at(0)}, ${at(0)})`.execute(db)
  await sql`insert into runs (id, tenant_id, board_id, board_version, board_name, status, seq, trigger, readers, active, state, started_at, updated_at)
    values ('run_1', 'ten_1', 'brd_1', 1, 'Crisis', 'waiting', 2, '{}', '{}', '{}', '{}', ${at(0)}, ${at(0)})`.execute(db)
  return db
}

test.each(['sqlite', 'postgres'])('requests of runs, which may have signatures, are removed with their keys, on %s', async (dialect) => {
  const db = await aRunBefore(dialect, '0062-hashed-requests')
  await sql`insert into run_history (run_id, seq, tenant_id, key, at, type, input, request, answer) values
    ('run_1', 1, 'ten_1', null, ${at(0)}, 'start', '{}', null, null),
    ('run_1', 2, 'ten_1', 'usr_1:k', ${at(0)}, 'submit', '{}', '["f1","submit",{"sign":"data:image/png;base64,aGVsbG8="},null]', '{}')`.execute(
    db,
  )
  await migrate(db)
  const rows = await db.selectFrom('run_history').select(['seq', 'key', 'request', 'answer']).orderBy('seq').execute()
  expect(rows.map(({ key, request, answer }) => [key, request, answer])).toEqual([
    [null, null, null],
    [null, null, null],
  ])
})

test.each(['sqlite', 'postgres'])('open elements keep what is read of them, on %s', async (dialect) => {
  const db = await aRunBefore(dialect, '0063-escalation-roles')
  await sql`insert into run_elements (run_id, token_id, tenant_id, element_id, kind, label, role_key, escalation_role, approvals, opened_at)
    values ('run_1', 't1', 'ten_1', 'c1', 'checkpoint', 'Allow', 'teacher', 'head', '[]', ${at(0)})`.execute(db)
  await migrate(db)
  const nothing = {
    required_approvals: null,
    task_id: null,
    escalation_task_id: null,
    due_at: null,
    starter_id: null,
    escalated_role: null,
  }
  expect(await db.selectFrom('run_elements').selectAll().execute()).toEqual([
    {
      ...{ run_id: 'run_1', token_id: 't1', tenant_id: 'ten_1', element_id: 'c1', kind: 'checkpoint', label: 'Allow', role_key: 'teacher' },
      ...{ approvals: '[]', opened_at: at(0), ...nothing },
    },
  ])
})

test.each(['sqlite', 'postgres'])('forms that were late before can be found by the role of their task, on %s', async (dialect) => {
  const db = await aRunBefore(dialect, '0066-element-owners')
  await sql`insert into tasks (id, tenant_id, title, status, role_key, escalation_level, created_at, updated_at)
    values ('tsk_1', 'ten_1', 'Overdue: Notice', 'open', 'head', 0, ${at(0)}, ${at(0)})`.execute(db)
  for (const [token, kind, task] of [
    ['t1', 'form', 'tsk_1'],
    ['t2', 'checkpoint', 'tsk_1'],
    ['t3', 'form', null],
  ])
    await sql`insert into run_elements (run_id, token_id, tenant_id, element_id, kind, label, role_key, approvals, opened_at, escalation_task_id)
      values ('run_1', ${token}, 'ten_1', 'x', ${kind}, 'Notice', 'teacher', '[]', ${at(0)}, ${task})`.execute(db)
  await migrate(db)
  const rows = await db.selectFrom('run_elements').select(['token_id', 'escalated_role']).orderBy('token_id').execute()
  expect(rows.map(({ escalated_role }) => escalated_role)).toEqual(['head', null, null])
})

test.each(['sqlite', 'postgres'])('tasks that were escalated by hand before can be found by their new role, on %s', async (dialect) => {
  const db = await aRunBefore(dialect, '0071-escalated-tasks')
  for (const [id, role] of [
    ['tsk_1', 'head'],
    ['tsk_2', 'teacher'],
    ['tsk_3', null],
  ])
    await sql`insert into tasks (id, tenant_id, title, status, role_key, escalation_level, created_at, updated_at)
      values (${id}, 'ten_1', 'Call', 'open', ${role}, 0, ${at(0)}, ${at(0)})`.execute(db)
  for (const [token, kind, role, task] of [
    ['t1', 'task', 'teacher', 'tsk_1'],
    ['t2', 'task', 'teacher', 'tsk_2'],
    ['t3', 'task', '', 'tsk_3'],
    ['t4', 'task', '', 'tsk_1'],
    ['t5', 'checkpoint', 'teacher', null],
  ])
    await sql`insert into run_elements (run_id, token_id, tenant_id, element_id, kind, label, role_key, approvals, opened_at, task_id)
      values ('run_1', ${token}, 'ten_1', 'x', ${kind}, 'Call', ${role}, '[]', ${at(0)}, ${task})`.execute(db)
  await migrate(db)
  const rows = await db.selectFrom('run_elements').select(['token_id', 'escalated_role']).orderBy('token_id').execute()
  expect(rows.map(({ escalated_role }) => escalated_role)).toEqual(['head', null, null, 'head', null])
})

test.each(['sqlite', 'postgres'])('the characters of saved versions of boards are counted, on %s', async (dialect) => {
  const db = await aRunBefore(dialect, '0072-board-characters')
  await sql`insert into board_versions (board_id, version, tenant_id, definition, saved_by, saved_at)
    values ('brd_1', 1, 'ten_1', '{"ä":1}', null, ${at(0)})`.execute(db)
  await migrate(db)
  expect(await db.selectFrom('board_versions').select('characters').execute()).toEqual([{ characters: 7 }])
})
