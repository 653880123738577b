import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type Pg from 'pg'
import { problem } from '../../core/kit/index.ts'
import { type CommitListener, type CommitSubscription, type Publish, publishCommits, setCommitSource } from './commit-notifications.ts'
import type { Db, Tables } from './database.ts'
import { markConnectErrors, markQueryErrors } from './no-answer.ts'
import { prepareStatements } from './prepared-statements.ts'

type Opened = Readonly<{ db: Db; close(): Promise<void> }>

/** A reachable server has reported the statement's timeout by then. */
const graceMs = 5000

/** `statementTimeoutMs` 0: no limit. */
export function openPostgres(connectionString: string, statementTimeoutMs: number): Opened {
  const pg = driver()
  const pool = new pg.Pool({
    connectionString,
    ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: statementTimeoutMs } : {}),
    max: 10,
    connectionTimeoutMillis: 10_000,
    // int8 (counts, sequences) as numbers: none of ours exceeds 2^53.
    types: { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as 'text')) },
  })
  pool.on('error', () => undefined) // the pool replaces a dead idle connection at the next query
  pool.on('connect', (client) => {
    // A connection that dies within a transaction fails the next statement; that error is enough.
    client.on('error', () => undefined)
    prepareStatements(client)
    markQueryErrors(client)
    if (statementTimeoutMs > 0) closeWhenSilent(client, statementTimeoutMs + graceMs)
  })
  const publish = publisher(pool)
  const db = new Kysely<Tables>({ dialect: new NotifyingDialect(markConnectErrors(pool), publish) })
  if (statementTimeoutMs > 0) openUnlimited.set(db, () => openPostgres(connectionString, 0))
  setCommitSource(db, { publish, subscribe: (listener) => subscribe(connectionString, listener) })
  return { db, close: () => db.destroy() }
}

/** Throws CONFIG_INVALID for a URL that the driver cannot read. The reason is left out: it may quote a password. */
export function assertPostgresUrl(connectionString: string): void {
  try {
    ;new (driver().Client)({ connectionString })
  } catch {
    throw problem(
      'CONFIG_INVALID',
      'The PostgreSQL URL of the database cannot be read. fix: write it as postgres://user:password@host:5432/name, with special characters of the password percent-encoded',
    )
  }
}

/** Loaded on demand: a daemon on SQLite does not need the driver. */
const driver = (): typeof Pg => createRequire(import.meta.url)('pg')

const openUnlimited = new WeakMap<Db, () => Opened>()

/** Where the driver connects to, for PostgreSQL's own programs: the driver's URLs have forms and parameters that these do not know. */
export function postgresEnvironment(connectionString: string): Record<string, string> {
  const client = new (driver().Client)({ connectionString })
  const { host, port, database, user, password, ssl } = client as unknown as Connection
  const params = URL.canParse(connectionString) ? new URL(connectionString).searchParams : new URLSearchParams()
  const isVerified = ssl === true || (typeof ssl === 'object' && ssl.rejectUnauthorized !== false)
  const file = (name: string, fallback?: string) => params.get(name) ?? fallback
  const environment = {
    ...{ PGHOST: host, PGPORT: String(port), PGDATABASE: database, PGUSER: user, PGPASSWORD: password },
    PGSSLMODE: isVerified ? 'verify-full' : ssl ? 'require' : 'disable',
    ...(ssl
      ? { PGSSLROOTCERT: file('sslrootcert', isVerified ? 'system' : undefined), PGSSLCERT: file('sslcert'), PGSSLKEY: file('sslkey') }
      : {}),
  }
  return Object.fromEntries(Object.entries(environment).filter((one): one is [string, string] => typeof one[1] === 'string'))
}

type Connection = Readonly<{
  host: string
  port: number
  database: string
  user: string
  password: string | null
  ssl: boolean | Readonly<{ rejectUnauthorized?: boolean }>
}>

/** Runs long work, such as migrations, on a connection without statement timeout. */
export async function withoutTimeLimit<Result>(db: Db, work: (db: Db) => Promise<Result>): Promise<Result> {
  const unlimited = openUnlimited.get(db)?.()
  try {
    return await work(unlimited?.db ?? db)
  } finally {
    await unlimited?.close()
  }
}

/**
 * A server that vanished (a failover, a pulled cable) ends no statement, and TCP retransmits for a quarter of an hour. Closing the silent
 * connection makes the next query connect to the new server.
 */
function closeWhenSilent(client: Pg.PoolClient, silentMs: number): void {
  const { stream } = (client as unknown as Readonly<{ connection: Readonly<{ stream: Socket }> }>).connection
  stream.setTimeout(silentMs, () => stream.destroy(Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT' })))
}

/** Publishes the topics of a transaction after its commit: a `notify` within it would make all commits wait for each other. */
class NotifyingDialect extends PostgresDialect {
  readonly #publish: Publish

  constructor(pool: PostgresPool, publish: Publish) {
    super({ pool })
    this.#publish = publish
  }

  override createDriver() {
    return publishCommits(super.createDriver(), this.#publish)
  }
}

/** The one channel of PostgreSQL's `notify`; the topic is the payload. */
const commitChannel = 'tenantry'

/** Between two statements that notify: each is a transaction, and under load there would be one for almost every change. */
const notifyGapMs = 20

/** Sends topics to all replicas: the first at once, then all that came since in one statement. Lost ones are found by polling. */
function publisher(pool: Pg.Pool): Publish {
  const waiting = new Set<string>()
  let isSending = false
  const send = async () => {
    isSending = true
    while (waiting.size > 0) {
      const topics = [...waiting]
      waiting.clear()
      await pool.query('select pg_notify($1, topic) from unnest($2::text[]) as topic', [commitChannel, topics]).catch(() => undefined)
      await setTimeout(notifyGapMs, undefined, { ref: false })
    }
    isSending = false
  }
  return (topics) => {
    for (const topic of topics) waiting.add(topic)
    if (!isSending && waiting.size > 0) void send()
  }
}

/** Listens on a connection of its own. */
async function subscribe(connectionString: string, listener: CommitListener): Promise<CommitSubscription> {
  const client = new (driver().Client)({ connectionString, connectionTimeoutMillis: 10_000, keepAlive: true })
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  client.on('error', () => void client.end().catch(() => undefined))
  client.on('notification', ({ payload }) => listener(payload ?? ''))
  await client.connect()
  await client.query(`listen ${commitChannel}`)
  return { ended, close: () => client.end() }
}
