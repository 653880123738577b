import { createReadStream } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { runConcurrently } from '../backup/index.ts'
import type { ContainerEngine, LocalBox, RowCounts } from '../ports/index.ts'
import { runningId, viewBox } from './box-view.ts'
import { dumpFile, globalsFile } from './dump.ts'
import {
  asSuperuser,
  connection,
  countSql,
  type DatabaseLogin,
  databaseLogin,
  lastLine,
  needSameCounts,
  needSql,
  parseCounts,
  type SqlRun,
} from './sql.ts'

/** Loads a dump into an empty database and makes it fit to be served again (SAFETY, Restore). Never over tables that are there. */
export async function loadDatabase(
  engine: ContainerEngine,
  box: LocalBox,
  folder: string,
  expected: RowCounts,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted()
  const view = await viewBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  await makeFresh({ engine, view, login, signal }, await readGlobals(box, folder))
  await restoreDump(
    engine,
    runningId(view, 'postgres'),
    box,
    [...withoutWaiting, 'pg_restore', '--exit-on-error', ...connection(login)],
    join(folder, dumpFile),
    signal,
  )
  await settleDatabase(engine, box, expected, signal)
}

/** An empty database with the roles of the dump, in the place of one without tables. By one program, since each costs a process in the container. */
async function makeFresh(run: SqlRun, globals: string): Promise<void> {
  const { view, login } = run
  // Roles that are there already are no failure; one that lacks shows in the load itself.
  const sql = `${emptySql}${asRole(asSuperuser(login))}${lenient(globals)}${freshSql(login.database, login.user)}\\echo fresh\n`
  const said = await needSql(run, sql, 'RESTORE_FAILED')
  const [, tables] = /^filled (.*)$/m.exec(said) ?? []
  if (tables !== undefined) throw problem('RESTORE_FAILED', `the database of ${view.box.slug} is not empty: it has ${tables} tables`)
  // psql ends well too where it was given nothing, or where a text that a torn file of roles leaves open swallows the rest.
  if (!/^fresh$/m.test(said)) throw problem('RESTORE_FAILED', `the database of ${view.box.slug} was not made anew: psql did not come to it`)
}

/**
 * Not each of its statements waits for the disk, of which a chat server's database has some six hundred. The server stays whole whenever it is
 * ended, it only may lack the last of them: a load that is ended is made anew, and one that is done is on disk by `onDiskSql`.
 */
const withoutWaiting = ['env', 'PGOPTIONS=-c synchronous_commit=off']

/** What a database from before needs before it is served again, loaded or copied. Throws RESTORE_FAILED when it is not the one that was counted. */
export async function settleDatabase(engine: ContainerEngine, box: LocalBox, expected: RowCounts, signal?: AbortSignal): Promise<void> {
  const view = await viewBox(engine, box)
  const run = { engine, view, login: await databaseLogin(engine, view, signal), signal }
  const count = async (within: AbortSignal) =>
    needSameCounts(box.slug, expected, parseCounts(await needSql({ ...run, signal: within }, countSql, 'RESTORE_FAILED')))
  const finish = (within: AbortSignal) => needSql({ ...run, signal: within }, afterwardsSql, 'RESTORE_FAILED')
  // Each reads every table, so beside each other they read it once. A database whose counts differ is served by nobody, finished or not.
  await runConcurrently([count, finish], signal)
}

/** A folder without both files is no dump: that shows here, where it is not yet taken for a failure of the engine that reads them. */
async function readGlobals(box: LocalBox, folder: string): Promise<string> {
  try {
    await access(join(folder, dumpFile))
    return await readFile(join(folder, globalsFile), 'utf8')
  } catch (error) {
    throw unreadable(box, error)
  }
}

const unreadable = ({ slug }: LocalBox, cause: unknown) =>
  problem('RESTORE_FAILED', `the dump of ${slug} cannot be read: ${(cause as Error).message}`, { cause })

/** What a disk says of what it lost. No connection ever does, though the engine is what reads the dump then. */
const isLost = (error: unknown): boolean => ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EIO'

async function restoreDump(
  engine: ContainerEngine,
  id: string,
  box: LocalBox,
  argv: string[],
  path: string,
  signal?: AbortSignal,
): Promise<void> {
  const fed = engine.exec(id, argv, { stdin: createReadStream(path), ...(signal ? { signal } : {}) })
  const { exitCode, stderr } = await fed.catch((error) => {
    throw isLost(error) ? unreadable(box, (error as Error).cause) : error
  })
  if (exitCode === 0) return
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `no space left to load the database of ${box.slug}`)
  throw problem('RESTORE_FAILED', `pg_restore of ${box.slug} ended with exit code ${exitCode}: ${lastLine(stderr)}`)
}

/** Unless there are none it says how many and ends the program, so that nothing after it happens; also where psql understood no answer. */
const emptySql = `select count(*) as tables, count(*) = 0 as empty
from information_schema.tables where table_schema = 'public' and table_name <> 'tenantry_probe' \\gset
\\if :empty
\\else
\\echo filled :tables
\\quit
\\endif
`

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** The rest is done as another role, in its own database. */
const asRole = ({ user, database }: Pick<DatabaseLogin, 'user' | 'database'>) => `\\connect ${quoted(database)} ${quoted(user)}\n`

/** SQL of which a failure is no failure, before such that must succeed. */
const lenient = (sql: string) => `\\set ON_ERROR_STOP 0\n${sql}\n\\set ON_ERROR_STOP 1\n`

const freshSql = (database: string, owner: string) => `drop database ${quoted(database)};
create database ${quoted(database)} owner ${quoted(owner)} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C';
`

/** Has its commit written, and with it all that was committed before, by whomever: a commit that wrote nothing waits for nothing. */
const onDiskSql = `set synchronous_commit = local;
select pg_logical_emit_message(true, 'tenantry', 'loaded');
`

/**
 * One-time keys that were handed out after the dump must not be handed out twice; transactions of application services must not
 * reuse numbers that the other side has seen; without statistics the planner makes every probe slow.
 */
const afterwardsSql = `do $$
begin
  if to_regclass('public.e2e_one_time_keys_json') is not null then
    truncate public.e2e_one_time_keys_json;
  end if;
  if to_regclass('public.application_services_txn_id_seq') is not null then
    perform setval('public.application_services_txn_id_seq', nextval('public.application_services_txn_id_seq') + 1000);
  end if;
end
$$;
analyze;
${onDiskSql}`
