import { createReadStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { isProblem, problem } from '../../core/kit/index.ts'
import { runConcurrently } from '../backup/index.ts'
import type { ContainerEngine, ExecOptions, ExecResult, ForeignContent, ForeignDatabase, LocalBox, RowCounts } from '../ports/index.ts'
import { type DatabaseView, type EngineBox, inspectBox, runningId } from './box-view.ts'
import { contentSql, foreignServer, parseContent } from './foreign-database.ts'
import {
  asSuperuser,
  connection,
  countSql,
  type DatabaseLogin,
  databaseLogin,
  errorLine,
  isForeign,
  parseCounts,
  psql,
  type SqlRun,
} from './sql.ts'

export const dumpFile = 'database.dump'
/** Only for a person who restores by hand: a load never runs it. */
const globalsFile = 'globals.sql'

/** Writes dump and globals into a folder. Dump and row counts use the same database snapshot. */
export async function dumpDatabase({ engine, box }: EngineBox, folder: string, signal?: AbortSignal): Promise<RowCounts> {
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const run = (argv: string[], options: ExecOptions) => runProgramInPostgres({ engine, view }, argv, options)
  const toFile = (argv: string[], name: string) => (within: AbortSignal) => run(argv, { stdoutFile: join(folder, name), signal: within })
  const globals = toFile(['pg_dumpall', '--globals-only', ...globalsConnection(asSuperuser(login))], globalsFile)
  const dump = (snapshot: string) => toFile(dumpArguments(login, snapshot), dumpFile)
  const held = { engine, view, login, signal }
  const counts = await withExportedSnapshot(held, countSql, (snapshot) => runConcurrently([dump(snapshot), globals], signal))
  await assertListable({ run, signal }, box, join(folder, dumpFile))
  return parseCounts(counts)
}

/** Writes the dump of a foreign database into a folder. Its row counts and its mark are of the same snapshot. */
export async function dumpForeignDatabase(
  engine: ContainerEngine,
  source: ForeignDatabase,
  { slug, folder, signal }: Readonly<{ slug: string; folder: string; signal?: AbortSignal | undefined }>,
): Promise<ForeignContent> {
  const { otherSchemas, hasExtensions } = source
  const { view, login } = foreignServer(slug, source)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const run = (argv: string[], options: ExecOptions) => runProgramInPostgres({ engine, view }, argv, options)
  const left = otherSchemas.map((schema) => `--exclude-schema="${schema.replaceAll('"', '""')}"`)
  const dump = (snapshot: string) =>
    run([...dumpArguments(login, snapshot), ...left, ...(hasExtensions ? ['--extension=plpgsql'] : [])], {
      stdoutFile: join(folder, dumpFile),
      ...(signal ? { signal } : {}),
    })
  const held = { engine, view, login, signal }
  const printed = await withExportedSnapshot(held, contentSql, async (snapshot) => void (await dump(snapshot)))
  await assertListable({ run, signal }, view.box, join(folder, dumpFile))
  return parseContent(slug, printed)
}

const dumpArguments = (login: DatabaseLogin, snapshot: string): string[] => [
  ...inEnglish,
  'pg_dump',
  ...['-Fc', '-Z1', '--no-sync', `--lock-wait-timeout=${lockWaitMs}`, `--snapshot=${snapshot}`],
  ...connection(login),
]

/** Messages of the program in English; the server's own messages keep its language. */
const inEnglish = ['env', 'LC_ALL=C']

const globalsConnection = ({ user, database }: DatabaseLogin) => ['-w', '-h', '127.0.0.1', '-U', user, '-l', database]

type Target = Readonly<{ engine: ContainerEngine; view: DatabaseView }>

async function runProgramInPostgres({ engine, view }: Target, argv: string[], options: ExecOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await engine.exec(runningId(view, 'postgres'), argv, options)
  if (exitCode === 0) return stdout
  const program = argv.find((word) => /^pg_/.test(word))
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `No disk space left for ${program} of ${view.box.slug}`)
  throw problem('SNAPSHOT_FAILED', `${program} of ${view.box.slug} failed with exit code ${exitCode}: ${whyFailed(stderr)}`)
}

const whyFailed = (stderr: string): string =>
  isForeign(stderr) && /query was: LOCK TABLE/i.test(stderr) ? `${errorLine(stderr)} (${tablesNotKept})` : errorLine(stderr)

/** The table of contents is at the start of a dump. Most are far shorter than the first of these; users wait while it is sent. */
const listedBytes = [1_000_000, 64_000_000]

/** Reads the input that the program leaves: otherwise the engine resets the connection, and its output may be lost. */
const readingAll = ['sh', '-c', '"$@"; code=$?; cat > /dev/null; exit $code', 'sh']

/** Rejects a dump that pg_restore cannot list, whatever the exit code was. */
async function assertListable(
  { run, signal }: Readonly<{ run(argv: string[], options: ExecOptions): Promise<string>; signal?: AbortSignal | undefined }>,
  box: Pick<LocalBox, 'slug'>,
  path: string,
): Promise<void> {
  const { size } = await stat(path)
  const list = (end: number) =>
    run([...readingAll, 'pg_restore', '--list'], { stdin: createReadStream(path, { end }), ...(signal ? { signal } : {}) })
  const [first, most] = listedBytes as [number, number]
  const isListed = (listed: string) => /^;\s+TOC Entries:/m.test(listed)
  if (size > first && isListed(await list(first).catch(() => ''))) return
  signal?.throwIfAborted()
  if (size === 0 || !isListed(await list(most)))
    throw problem('SNAPSHOT_FAILED', `pg_restore cannot list the dump of ${box.slug} (${size} bytes)`)
}

/**
 * Bounds lock waits. A schema change waits for this session's locks, and the dump would wait behind that change: a deadlock that also blocks
 * the chat server.
 */
export const lockWaitMs = 5_000

/**
 * Opens the session: disables timeouts of the server, locks all tables against drops (Synapse drops tables of background work), and exports a
 * snapshot. `client_connection_check_interval` ends the session when the agent dies.
 */
const beginSql = `set idle_in_transaction_session_timeout = 0;
set statement_timeout = 0;
set lock_timeout = ${lockWaitMs};
do $$
begin
  perform set_config(name, '1000', false) from pg_settings where name = 'client_connection_check_interval';
exception when others then null;
end
$$;
begin isolation level repeatable read read only;
select format('lock table %s in access share mode', string_agg(format('%I.%I', table_schema, table_name), ', '))
from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' having count(*) > 0 \\gexec
select pg_export_snapshot();
`

/**
 * Runs `work` with an exported database snapshot and returns the result of `sql` in the same snapshot. Retries with a new snapshot when a
 * table was being changed or dropped. Throws SNAPSHOT_FAILED when the session ends early.
 */
export async function withExportedSnapshot(run: SqlRun, sql: string, work: (snapshot: string) => Promise<void>): Promise<string> {
  for (let triesLeft = retries; ; triesLeft--) {
    try {
      return await atOneMoment(run, sql, work)
    } catch (error) {
      if (!isBeingChanged(error) && !isGone(error)) throw error
      if (triesLeft === 0) throw isBeingChanged(error) ? stillChanged(run, error) : error
    }
  }
}

/** Retries when a table is dropped between listing and locking, or is being changed. */
const retries = 5

const says = (words: RegExp) => (error: unknown) => isProblem(error, 'SNAPSHOT_FAILED') && words.test(error.message)

/**
 * Marks a failed table lock whose reason is not in English: pg_dump prints no error codes. Missing permissions look the same and are reported
 * after the last retry.
 */
const tablesNotKept = 'its tables could not be locked'

/** Detects lock timeouts and deadlocks by psql's language-independent codes, and by the messages of pg_dump. */
const isBeingChanged = says(new RegExp(`\\b(55P03|40P01): |due to (lock|statement) timeout|deadlock detected|${tablesNotKept}`))
const isGone = says(/\b42P01: |does not exist|could not open relation/)

const stillChanged = ({ view }: SqlRun, cause: unknown) =>
  problem(
    'SNAPSHOT_FAILED',
    `A table of ${view.box.slug} was being changed in all ${retries + 1} attempts (${(cause as Error).message}). fix: retry when the schema change is done`,
    { cause },
  )

async function atOneMoment(run: SqlRun, sql: string, work: (snapshot: string) => Promise<void>): Promise<string> {
  const { name, ask, finish, abandon } = exportSnapshot(run)
  try {
    const snapshot = await name
    ask(sql)
    await work(snapshot)
    return await finish()
  } catch (error) {
    await abandon()
    throw error
  }
}

function exportSnapshot(run: SqlRun) {
  const stdin = new PassThrough()
  stdin.on('error', () => undefined) // the session reports its end
  const first = firstLine()
  const abandonment = new AbortController()
  const signal = run.signal ? AbortSignal.any([run.signal, abandonment.signal]) : abandonment.signal
  const session = psql({ ...run, signal, onStdout: first.receive }, stdin, '-v', 'VERBOSITY=verbose')
  const died = session.then(
    (ended) => Promise.reject(sessionEnded(run, ended)),
    (error) => Promise.reject(error),
  )
  died.catch(() => undefined)
  stdin.write(beginSql)
  return {
    name: Promise.race([first.line, died]),
    ask: (sql: string) => void stdin.write(sql),
    finish: async () => {
      stdin.end()
      const ended = await session
      if (ended.exitCode !== 0) throw sessionEnded(run, ended)
      return ended.stdout.slice(ended.stdout.indexOf('\n') + 1)
    },
    // A session that is counting does not notice the end of its input, so it is aborted.
    abandon: async () => {
      stdin.end()
      abandonment.abort(abandoned)
      await session.catch(() => undefined)
    },
  }
}

const abandoned = 'the work on the snapshot failed'

const sessionEnded = ({ view }: SqlRun, { exitCode, stderr }: ExecResult) =>
  problem('SNAPSHOT_FAILED', `psql in ${view.box.slug} failed with exit code ${exitCode}: ${errorLine(stderr)}`)

function firstLine(): { line: Promise<string>; receive(part: Buffer): void } {
  let received = ''
  let resolveLine: (line: string) => void = () => undefined
  const line = new Promise<string>((resolve) => {
    resolveLine = resolve
  })
  return {
    line,
    receive: (part) => {
      if (received.includes('\n')) return
      received += part.toString('utf8')
      if (received.includes('\n')) resolveLine(received.slice(0, received.indexOf('\n')))
    },
  }
}
