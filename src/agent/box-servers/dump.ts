import { createReadStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { isProblem, problem } from '../../core/kit/index.ts'
import { runConcurrently } from '../backup/index.ts'
import type { ContainerEngine, ExecOptions, ExecResult, LocalBox, RowCounts } from '../ports/index.ts'
import { type BoxView, runningId, viewBox } from './box-view.ts'
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
export const globalsFile = 'globals.sql'

/** Dump and globals into a folder, each with its own exit code. Dump and counts are of one moment, whoever writes meanwhile. */
export async function dumpDatabase(engine: ContainerEngine, box: LocalBox, folder: string, signal?: AbortSignal): Promise<RowCounts> {
  const view = await viewBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const run = (argv: string[], options: ExecOptions) => needProgram(engine, view, argv, options)
  const toFile = (argv: string[], name: string) => (within: AbortSignal) => run(argv, { stdoutFile: join(folder, name), signal: within })
  const options = ['-Fc', '--no-sync', `--lock-wait-timeout=${lockWaitMs}`]
  const globals = toFile(['pg_dumpall', '--globals-only', ...globalsConnection(asSuperuser(login))], globalsFile)
  const dump = (snapshot: string) => toFile([...inEnglish, 'pg_dump', ...options, `--snapshot=${snapshot}`, ...connection(login)], dumpFile)
  const held = { engine, view, login, signal }
  const counts = await withHeldSnapshot(held, countSql, (snapshot) => runConcurrently([dump(snapshot), globals], signal))
  await needListable(run, box, join(folder, dumpFile), signal)
  return parseCounts(counts)
}

/** Of what the program says itself; the server's part of it is in the server's own language. */
const inEnglish = ['env', 'LC_ALL=C']

const globalsConnection = ({ user, database }: DatabaseLogin) => ['-w', '-h', '127.0.0.1', '-U', user, '-l', database]

async function needProgram(engine: ContainerEngine, view: BoxView, argv: string[], options: ExecOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await engine.exec(runningId(view, 'postgres'), argv, options)
  if (exitCode === 0) return stdout
  const program = argv.find((word) => /^pg_/.test(word))
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `no space left for ${program} of ${view.box.slug}`)
  throw problem('SNAPSHOT_FAILED', `${program} of ${view.box.slug} ended with exit code ${exitCode}: ${whyFailed(stderr)}`)
}

const whyFailed = (stderr: string): string =>
  isForeign(stderr) && /query was: LOCK TABLE/i.test(stderr) ? `${errorLine(stderr)} (${tablesNotKept})` : errorLine(stderr)

/** A dump that cannot be listed is none, whatever the exit code said. */
async function needListable(
  run: (argv: string[], options: ExecOptions) => Promise<string>,
  box: LocalBox,
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const { size } = await stat(path)
  const listed = size === 0 ? '' : await run(['pg_restore', '--list'], { stdin: createReadStream(path), ...(signal ? { signal } : {}) })
  if (!/^;\s+TOC Entries:/m.test(listed)) throw problem('SNAPSHOT_FAILED', `the dump of ${box.slug} (${size} bytes) cannot be listed`)
}

/**
 * Whoever wants to change a table waits for those who keep it, and whoever wants to keep it from then on waits behind. The dump would so wait for
 * the change, and the change for this session, which waits for the dump; and the chat server, behind them all, would stand still.
 */
export const lockWaitMs = 5_000

/**
 * A box may end sessions that are idle or slow; this one is both, as often as the database is large. A table that is dropped is gone for
 * sessions of an earlier moment too (Synapse drops those of its background work), so each is kept until the end, as pg_dump does.
 * A server that has the setting sees by itself that its asker is gone, instead of counting to the end and keeping all tables for nobody.
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
 * Does work on the database as it is at one moment, however much is written meanwhile: a session holds that moment open, tells its name,
 * and answers the question `sql` about it beside the work. Throws SNAPSHOT_FAILED when the session ends before the work does.
 * The work is done again, at a later moment, where a table was being changed or dropped: each try lets go of all tables, so that it can be.
 */
export async function withHeldSnapshot(run: SqlRun, sql: string, work: (snapshot: string) => Promise<void>): Promise<string> {
  for (let triesLeft = retries; ; triesLeft--) {
    try {
      return await atOneMoment(run, sql, work)
    } catch (error) {
      if (!isBeingChanged(error) && !isGone(error)) throw error
      if (triesLeft === 0) throw isBeingChanged(error) ? stillChanged(run, error) : error
    }
  }
}

/** How often a table may vanish between being listed and being kept, or be about to be changed. */
const retries = 5

const says = (words: RegExp) => (error: unknown) => isProblem(error, 'SNAPSHOT_FAILED') && words.test(error.message)

/**
 * What a dump says whose tables could not be kept, for a reason told in another language than English: pg_dump shows no codes of errors, and the
 * owner of a database may not choose its language. A want of rights looks the same; it is told after the last try, in the server's words.
 */
const tablesNotKept = 'its tables could not be kept'

/**
 * By the session's codes, which are the same in every language, and by the words of `pg_dump`. That waits for its locks by a time for
 * statements, and has no other. Of two that wait for each other the server ends one at once.
 */
const isBeingChanged = says(new RegExp(`\\b(55P03|40P01): |due to (lock|statement) timeout|deadlock detected|${tablesNotKept}`))
const isGone = says(/\b42P01: |does not exist|could not open relation/)

const stillChanged = ({ view }: SqlRun, cause: unknown) =>
  problem(
    'SNAPSHOT_FAILED',
    `a table of ${view.box.slug} was being changed at each of ${retries + 1} tries: once that is over, try again (${(cause as Error).message})`,
    { cause },
  )

async function atOneMoment(run: SqlRun, sql: string, work: (snapshot: string) => Promise<void>): Promise<string> {
  const { name, ask, finish, abandon } = holdSnapshot(run)
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

function holdSnapshot(run: SqlRun) {
  const stdin = new PassThrough()
  const first = firstLine()
  const givenUp = new AbortController()
  const signal = run.signal ? AbortSignal.any([run.signal, givenUp.signal]) : givenUp.signal
  const session = psql({ ...run, signal, onStdout: first.hear }, stdin, '-v', 'VERBOSITY=verbose')
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
    // A session that counts hears of no end of its questions before it is done.
    abandon: async () => {
      stdin.end()
      givenUp.abort(abandoned)
      await session.catch(() => undefined)
    },
  }
}

const abandoned = 'the work on that moment failed'

const sessionEnded = ({ view }: SqlRun, { exitCode, stderr }: ExecResult) =>
  problem('SNAPSHOT_FAILED', `psql in ${view.box.slug} ended with exit code ${exitCode}: ${errorLine(stderr)}`)

function firstLine(): { line: Promise<string>; hear(part: Buffer): void } {
  let heard = ''
  let tell: (line: string) => void = () => undefined
  const line = new Promise<string>((resolve) => {
    tell = resolve
  })
  return {
    line,
    hear: (part) => {
      if (heard.includes('\n')) return
      heard += part.toString('utf8')
      if (heard.includes('\n')) tell(heard.slice(0, heard.indexOf('\n')))
    },
  }
}
