import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { runConcurrently } from '../backup/index.ts'
import type { LocalBox, RowCounts } from '../ports/index.ts'
import { type EngineBox, inspectBox, runningId } from './box-view.ts'
import { dumpFile } from './dump.ts'
import {
  asSuperuser,
  assertSameCounts,
  connection,
  countSql,
  type DatabaseLogin,
  databaseLogin,
  lastLine,
  literal,
  parseCounts,
  quoted,
  runSql,
  type SqlRun,
} from './sql.ts'

/** Loads a dump into an empty database and prepares it for service (SAFETY, Restore). Refuses a database with tables. */
export async function loadDatabase(
  { engine, box }: EngineBox,
  { folder, expected }: Readonly<{ folder: string; expected: RowCounts }>,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted()
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  await assertPresent(box, folder)
  const run = { engine, view, login, signal }
  await makeFresh(run)
  await restoreDump(run, join(folder, dumpFile))
  await finishDatabaseLoad({ engine, box }, expected, signal)
}

/**
 * Everything belongs to the box's own role and tablespace: the dump names roles that its host made, and other roles and tablespaces of a cluster
 * are not restored. Nothing of the dump goes through psql, whose meta-commands run programs.
 */
const asOneRole = ['--no-owner', '--no-privileges', '--no-tablespaces']

/**
 * Replaces a database without tables by an empty one, whose role has the password of this box; one psql run, because each one starts a
 * process in the container.
 */
async function makeFresh(run: SqlRun): Promise<void> {
  const { view, login } = run
  const password = view.secrets?.postgresPassword
  const role = password ? passwordSql(login.user, password) : ''
  const sql = `${emptySql}${asRole(asSuperuser(login))}${role}${freshSql(login.database, login.user)}\\echo fresh\n`
  const said = await runSql(run, sql, 'RESTORE_FAILED')
  const [, tables] = /^filled (.*)$/m.exec(said) ?? []
  if (tables !== undefined) throw problem('RESTORE_FAILED', `The database of ${view.box.slug} is not empty: it has ${tables} tables`)
  // psql also succeeds on empty input.
  if (!/^fresh$/m.test(said)) throw problem('RESTORE_FAILED', `The database of ${view.box.slug} was not recreated: psql stopped early`)
}

/** Statements of the load do not wait for the disk. An interrupted load is repeated, and `onDiskSql` flushes a complete one. */
const withoutWaiting = ['env', 'PGOPTIONS=-c synchronous_commit=off']

/** Prepares a restored database for service. Throws RESTORE_FAILED when its row counts differ from the expected ones. */
export async function finishDatabaseLoad({ engine, box }: EngineBox, expected: RowCounts | undefined, signal?: AbortSignal): Promise<void> {
  const view = await inspectBox(engine, box)
  const run = { engine, view, login: await databaseLogin(engine, view, signal), signal }
  // A copy of the whole volume has its statistics, and its rollback must not take longer for a large database.
  if (expected === undefined) return void (await runSql(run, copiedSql, 'RESTORE_FAILED'))
  const count = async (within: AbortSignal) => {
    const counts = parseCounts(await runSql({ ...run, signal: within }, countSql, 'RESTORE_FAILED'))
    assertSameCounts(box.slug, expected, counts)
  }
  const finish = (within: AbortSignal) => runSql({ ...run, signal: within }, afterwardsSql, 'RESTORE_FAILED')
  // Both read every table, so running concurrently they read each one from disk once. A database with other counts never serves, finished or not.
  await runConcurrently([count, finish], signal)
}

export async function compareRows({ engine, box }: EngineBox, expected: RowCounts, signal?: AbortSignal): Promise<void> {
  const view = await inspectBox(engine, box)
  const run = { engine, view, login: await databaseLogin(engine, view, signal), signal }
  assertSameCounts(box.slug, expected, parseCounts(await runSql(run, countSql, 'RESTORE_FAILED')))
}

/** Checks the dump before the load, so that a missing one is not mistaken for an engine failure. */
async function assertPresent(box: LocalBox, folder: string): Promise<void> {
  const facts = await lstat(join(folder, dumpFile)).catch((error) => {
    throw unreadable(box, error)
  })
  if (!facts.isFile()) throw unreadable(box, new Error(`${dumpFile} is not a regular file`))
}

const unreadable = ({ slug }: Pick<LocalBox, 'slug'>, cause: unknown) =>
  problem('RESTORE_FAILED', `Cannot read the dump of ${slug}: ${(cause as Error).message}`, { cause })

/** A disk error while the engine reads the dump; connections never return EIO. */
const isLost = (error: unknown): boolean => ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EIO'

async function restoreDump({ engine, view, login, signal }: SqlRun, path: string): Promise<void> {
  const { box } = view
  const argv = [...withoutWaiting, 'pg_restore', '-Fc', '--exit-on-error', ...asOneRole, ...connection(login)]
  const fed = engine.exec(runningId(view, 'postgres'), argv, { stdin: createReadStream(path), ...(signal ? { signal } : {}) })
  const { exitCode, stderr } = await fed.catch((error) => {
    throw isLost(error) ? unreadable(box, (error as Error).cause) : error
  })
  if (exitCode === 0) return
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `No disk space left to load the database of ${box.slug}`)
  throw problem('RESTORE_FAILED', `pg_restore of ${box.slug} failed with exit code ${exitCode}: ${lastLine(stderr)}`)
}

/** Prints the number of tables and quits unless it is 0, also when the query failed. */
const emptySql = `select count(*) as tables, count(*) = 0 as empty
from information_schema.tables where table_schema = 'public' and table_name <> 'tenantry_probe' \\gset
\\if :empty
\\else
\\echo filled :tables
\\quit
\\endif
`

/** Switches role and database for the rest of the script. */
const asRole = ({ user, database }: Pick<DatabaseLogin, 'user' | 'database'>) => `\\connect ${quoted(database)} ${quoted(user)}\n`

const passwordSql = (user: string, password: string) => `alter role ${quoted(user)} password ${literal(password)};\n`

const freshSql = (database: string, owner: string) => `drop database ${quoted(database)};
create database ${quoted(database)} owner ${quoted(owner)} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C';
`

/** Flushes all earlier commits to disk; it writes a WAL message, because an empty commit does not wait. */
const onDiskSql = `set synchronous_commit = local;
select pg_logical_emit_message(true, 'tenantry', 'loaded');
`

/**
 * One-time keys handed out after the dump must not be reused, nor transaction numbers of application services.
 */
const clearedSql = `do $$
begin
  if to_regclass('public.e2e_one_time_keys_json') is not null then
    truncate public.e2e_one_time_keys_json;
  end if;
  if to_regclass('public.application_services_txn_id_seq') is not null then
    perform setval('public.application_services_txn_id_seq', nextval('public.application_services_txn_id_seq') + 1000);
  end if;
end
$$;
`

/** ANALYZE, because the planner has no statistics after a load. */
const afterwardsSql = `${clearedSql}analyze;
${onDiskSql}`

const copiedSql = `do $$
begin
  if to_regclass('public.schema_version') is null or not exists (select from public.schema_version) then
    raise exception 'the database has no tables of a chat server';
  end if;
end
$$;
${clearedSql}${onDiskSql}`
