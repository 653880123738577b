import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, ForeignContent, ForeignDatabase } from '../ports/index.ts'
import { type BoxView, type DatabaseView, type EngineBox, inspectBox } from './box-view.ts'
import { markSql, parseMark } from './chat-mark.ts'
import { countSql, type DatabaseLogin, databaseLogin, literal, parseCounts, psql, quoted, runSql, type SqlRun } from './sql.ts'

// The database of a foreign stack, and a copy of its files in the volume of a box.

type Foreign = Pick<ForeignDatabase, 'container' | 'role' | 'database' | 'port' | 'isLocal'>

/** Its server and login, in the container that it runs in. */
export function foreignServer(
  slug: string,
  { container, role, database, port, isLocal }: Foreign,
): Readonly<{ view: DatabaseView; login: DatabaseLogin }> {
  const way = [...(isLocal ? [] : ['-h', '127.0.0.1']), '-p', String(port)]
  return {
    view: {
      box: { slug },
      secrets: undefined,
      container: (service) => (service === 'postgres' ? { id: container, state: 'running' } : undefined),
    },
    login: { user: role, superuser: role, database, way },
  }
}

/** One line for the mark, then those of the counts. */
export const contentSql = `${markSql}${countSql}`

export function parseContent(slug: string, printed: string): ForeignContent {
  const [mark = '', ...counts] = printed.trim().split('\n')
  return { rows: parseCounts(counts.join('\n')), mark: parseMark(slug, mark) }
}

export async function foreignContent(
  engine: ContainerEngine,
  source: ForeignDatabase,
  { slug, signal }: Readonly<{ slug: string; signal?: AbortSignal | undefined }>,
): Promise<ForeignContent> {
  const run = { engine, signal, ...foreignServer(slug, source) }
  const sql = `set statement_timeout = 0;\nbegin isolation level repeatable read read only;\n${contentSql}commit;\n`
  return parseContent(slug, await runSql(run, sql, 'SNAPSHOT_FAILED'))
}

type Copied = Pick<ForeignDatabase, 'role' | 'database'>

/** The copy has the roles of the stack until it is adopted. */
async function copyRun(
  { engine, box }: EngineBox,
  { role, database }: Copied,
  signal?: AbortSignal,
): Promise<SqlRun & Readonly<{ view: BoxView }>> {
  const view = await inspectBox(engine, box)
  return { engine, view, login: { user: role, superuser: role, database }, signal }
}

export async function copyReady(of: EngineBox, source: Copied): Promise<boolean> {
  const { exitCode, stdout } = await psql(await copyRun(of, source, AbortSignal.timeout(readyMs)), 'select 1;')
  return exitCode === 0 && stdout.trim() === '1'
}
const readyMs = 10_000

export async function adoptCopy(of: EngineBox, source: Copied, signal?: AbortSignal): Promise<void> {
  const run = await copyRun(of, source, signal)
  const own = await databaseLogin(of.engine, run.view, signal)
  const password = run.view.secrets?.postgresPassword
  if (password === undefined) throw problem('RESTORE_FAILED', `The secrets of ${of.box.slug} are missing`)
  const said = await runSql(run, adoptSql(source, { own, password }), 'RESTORE_FAILED')
  // psql also succeeds on empty input.
  if (!/^adopted$/m.test(said)) throw problem('RESTORE_FAILED', `The database of ${of.box.slug} was not taken over: psql stopped early`)
}

/** Exist in the copy only while it is taken over. */
const [maker, owner] = ['tenantry_maker', 'tenantry_owner']
/** The role that a cluster is made with. It owns what belongs to the system, so it can be renamed and not removed. */
const firstRole = 10

const system = "('pg_catalog', 'information_schema', 'pg_toast')"

/**
 * A copy becomes as a loaded dump: its objects belong to one role without powers, and no other role is left but the superuser, which has no
 * password. The databases beside it are made again. Each `\\gexec` runs the rows of the query before it.
 */
const adoptSql = (
  { database }: Copied,
  { own, password }: Readonly<{ own: DatabaseLogin; password: string }>,
): string => `set search_path = pg_catalog;
set client_min_messages = warning;
create role ${maker} superuser login;
alter role all reset all;
\\connect ${quoted(database)} ${maker}
set search_path = pg_catalog;
set client_min_messages = warning;
create role ${owner} login nosuperuser nocreatedb nocreaterole noreplication;
alter database template1 is_template false;
drop database template1;
drop database if exists postgres;
${['template1', 'postgres'].map((name) => `create database ${name} template template0 encoding 'UTF8' locale_provider libc lc_collate 'C' lc_ctype 'C';`).join('\n')}
alter database template1 is_template true;
select format('reassign owned by %I to ${owner}', rolname) from pg_roles
where oid >= 16384 and rolname not in ('${maker}', '${owner}') \\gexec
select format('alter %s %s owner to ${owner}',
  case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' when 'c' then 'type' else 'table' end, c.oid::regclass)
from pg_class c join pg_namespace n on n.oid = relnamespace
where relkind in ('r', 'p', 'v', 'm', 'S', 'c', 'f') and nspname not in ${system} and relowner = ${firstRole}
  and not (relkind = 'S' and exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype in ('a', 'i'))) \\gexec
select format('alter routine %s owner to ${owner}', p.oid::regprocedure) from pg_proc p join pg_namespace n on n.oid = pronamespace
where nspname not in ${system} and proowner = ${firstRole} \\gexec
select format('alter type %s owner to ${owner}', t.oid::regtype) from pg_type t join pg_namespace n on n.oid = typnamespace
where nspname not in ${system} and typowner = ${firstRole} and typrelid = 0 and typelem = 0 and typtype <> 'm' \\gexec
alter schema public owner to pg_database_owner;
grant usage, create on schema public to pg_database_owner;
grant usage on schema public to public;
select format('drop owned by %I', rolname) from pg_roles where oid >= 16384 and rolname not in ('${maker}', '${owner}') \\gexec
select format('drop role %I', rolname) from pg_roles where oid >= 16384 and rolname not in ('${maker}', '${owner}') \\gexec
select format('alter role %I rename to %I', rolname, ${literal(own.superuser)}) from pg_roles
where oid = ${firstRole} and rolname <> ${literal(own.superuser)} \\gexec
alter role ${quoted(own.superuser)} with superuser login createdb createrole replication bypassrls connection limit -1 valid until 'infinity' password null;
alter role ${quoted(own.superuser)} reset all;
alter role ${quoted(own.superuser)} in database ${quoted(database)} reset all;
alter database ${quoted(database)} owner to ${owner};
alter database ${quoted(database)} reset all;
alter database ${quoted(database)} connection limit -1;
\\connect postgres ${maker}
${database === own.database ? '' : `alter database ${quoted(database)} rename to ${quoted(own.database)};`}
alter role ${owner} rename to ${quoted(own.user)};
alter role ${quoted(own.user)} password ${literal(password)};
\\connect postgres ${quoted(own.superuser)}
reassign owned by ${maker} to ${quoted(own.superuser)};
drop role ${maker};
\\connect ${quoted(own.database)} ${quoted(own.superuser)}
select count(*) as strange from pg_class join pg_namespace n on n.oid = relnamespace
where nspname not like 'pg\\_%' and nspname <> 'information_schema' and relowner <> ${literal(own.user)}::regrole \\gset
select (select count(*) from pg_roles where oid >= 16384) as roles \\gset
select :strange = 0 and :roles = 1 as clean \\gset
\\if :clean
\\echo adopted
\\else
\\echo not adopted: :strange relations of others, :roles roles
\\endif
`
