import { z } from 'zod'
import { DatabaseContent, UpgradeFacts, UpgradeTarget } from '../../core/boxes/index.ts'
import { asJson, type ProblemCode, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, DatabaseUpgrades, LocalBox, UpgradeServers } from '../ports/index.ts'
import { type BoxView, inspectBox, runningId } from './box-view.ts'
import { asSuperuser, type DatabaseLogin, databaseLogin, errorLine, literal, runSql } from './sql.ts'

// The new server shares the network of the former one: they have 127.0.0.1 in common, and no other network. PGPORT of its container is its own port.

const formerPort = '5432'
/** In the container of the new server, and gone with it. */
const folder = '/tmp/tenantry-upgrade'

export const databaseUpgrades = (engine: ContainerEngine): DatabaseUpgrades => ({
  facts: (box, signal) => read(engine, box, { sql: factsSql, schema: UpgradeFacts, code: 'BOX_UNHEALTHY', signal }),
  target: (next, signal) =>
    read(engine, next, { sql: () => targetSql, schema: UpgradeTarget, code: 'BOX_UNHEALTHY', signal, isServer: true }),
  dump: async (servers, jobs, signal) =>
    Number((await inNext(engine, servers, { script: dumpScript, jobs, code: 'SNAPSHOT_FAILED', signal })).trim()),
  load: async (servers, jobs, signal) => void (await inNext(engine, servers, { script: loadScript, jobs, code: 'RESTORE_FAILED', signal })),
  analyze: async (servers, jobs, signal) =>
    void (await inNext(engine, servers, { script: analyzeScript, jobs, code: 'RESTORE_FAILED', signal })),
  content: async (server, box, signal) => {
    const { database } = await loginOf(engine, box, signal)
    return read(engine, server, { sql: () => contentSql, schema: DatabaseContent, code: 'RESTORE_FAILED', signal, database })
  },
})

const loginOf = async (engine: ContainerEngine, box: LocalBox, signal?: AbortSignal): Promise<DatabaseLogin> =>
  databaseLogin(engine, await inspectBox(engine, box), signal)

type Reading<Value> = Readonly<{
  sql(login: DatabaseLogin): string
  schema: z.ZodType<Value>
  code: 'BOX_UNHEALTHY' | 'RESTORE_FAILED'
  signal: AbortSignal | undefined
  /** Default: that of the chat server. */
  database?: string
  isServer?: boolean
}>

async function read<Value>(engine: ContainerEngine, box: LocalBox, reading: Reading<Value>): Promise<Value> {
  const { sql, schema, code, signal, isServer = false } = reading
  const view = await inspectBox(engine, box)
  const own = await databaseLogin(engine, view, signal)
  const superuser = asSuperuser(own)
  const login = isServer ? superuser : { ...superuser, database: reading.database ?? own.database }
  const printed = await runSql({ engine, view, login, signal }, `set statement_timeout = 0;\n${sql(own)}`, code)
  const result = schema.safeParse(asJson(printed.trim()))
  if (result.success) return result.data
  throw problem(code, `PostgreSQL of ${box.slug} answered facts that cannot be read: ${z.prettifyError(result.error).slice(0, 300)}`)
}

type Running = Readonly<{
  script: string
  jobs: number
  code: Extract<ProblemCode, 'SNAPSHOT_FAILED' | 'RESTORE_FAILED'>
  signal: AbortSignal | undefined
}>

/** Runs a script with superuser, database, jobs and the port of the former server as its arguments. */
async function inNext(engine: ContainerEngine, { former, next }: UpgradeServers, { script, jobs, code, signal }: Running): Promise<string> {
  const login = await loginOf(engine, former, signal)
  const view: BoxView = await inspectBox(engine, next)
  const argv = ['sh', '-euc', script, 'sh', login.superuser, login.database, String(jobs), formerPort, folder]
  const { exitCode, stdout, stderr } = await engine.exec(runningId(view, 'postgres'), argv, signal ? { signal } : {})
  if (exitCode === 0) return stdout
  signal?.throwIfAborted()
  if (/no space left/i.test(stderr)) throw problem('DISK_FULL', `No disk space left for the rehearsal of ${former.slug}`)
  throw problem(code, `exit code ${exitCode}: ${errorLine(stderr)}`)
}

/** Roles come with their passwords, so no other user may read the folder. */
const dumpScript = `export LC_ALL=C
umask 077
rm -rf "$5" && mkdir -p "$5"
pg_dumpall -w --globals-only --no-tablespaces -h 127.0.0.1 -p "$4" -U "$1" -l "$2" -f "$5/globals.sql"
pg_dump -w -Fd -Z1 --no-sync -j "$3" -h 127.0.0.1 -p "$4" -U "$1" -d "$2" -f "$5/database"
du -sk "$5" | awk '{ print $1 * 1024 }'
`

/** The role of the new cluster exists already, which is the one error of the globals; roles are compared afterwards. */
const loadScript = `export LC_ALL=C
psql -X -q -w -h 127.0.0.1 -U "$1" -d postgres -f "$5/globals.sql" > /dev/null
pg_restore -w -j "$3" --create --clean --if-exists --exit-on-error -h 127.0.0.1 -U "$1" -d template1 "$5/database"
`

const analyzeScript = `export LC_ALL=C
vacuumdb -w -q --analyze-only -j "$3" -h 127.0.0.1 -U "$1" -d "$2"
`

const namesOf = (query: string, order = 'n') => `(select coalesce(json_agg(n order by ${order}), '[]') from (${query}) as found (n))`

/** Column names differ between versions. */
const localeOf = (row: string) =>
  `coalesce(to_jsonb(${row}) ->> 'colllocale', to_jsonb(${row}) ->> 'colliculocale', ${row}.collcollate, ${row}.collname)`
const databaseLocale = `coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', d.datcollate)`

const collationOf = (row: string) =>
  `json_build_object('provider', ${row}.collprovider, 'locale', ${localeOf(row)}, 'version', pg_collation_actual_version(${row}.oid))`

const isOwn = `n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_toast%' and n.nspname not like 'pg\\_temp%'`

const factsSql = ({ superuser, database }: DatabaseLogin) => `select json_build_object(
  'major', current_setting('server_version_num')::int / 10000,
  'version', split_part(current_setting('server_version'), ' ', 1),
  'bytes', pg_database_size(current_database()),
  'superuser', ${literal(superuser)},
  'invalidIndexes', ${namesOf(`select format('%I.%I', n.nspname, c.relname) from pg_index i join pg_class c on c.oid = i.indexrelid
    join pg_namespace n on n.oid = c.relnamespace where not (i.indisvalid and i.indisready)`)},
  'extensions', ${namesOf('select extname::text from pg_extension')},
  'collations', (select json_agg(c) from (
    select json_build_object('provider', d.datlocprovider, 'locale', ${databaseLocale}, 'version', pg_database_collation_actual_version(d.oid))
    from pg_database d where d.datname = current_database()
    union all
    select ${collationOf('l')} from pg_collation l where l.collprovider <> 'd' and l.oid in (
      select a.attcollation from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'm', 'i', 'I', 'f') and ${isOwn})) as found (c)),
  'largeObjects', (select count(*) from pg_largeobject_metadata),
  'preparedTransactions', (select count(*) from pg_prepared_xacts),
  'logicalSlots', ${namesOf(`select slot_name::text from pg_replication_slots where slot_type = 'logical'`)},
  'roleSettings', ${namesOf(`select concat_ws(' in ', r.rolname, d.datname) || ': ' ||
    (select string_agg(split_part(one, '=', 1), ', ') from unnest(s.setconfig) as settings (one)) from pg_db_role_setting s
    left join pg_roles r on r.oid = s.setrole left join pg_database d on d.oid = s.setdatabase`)},
  'otherDatabases', ${namesOf(`select datname::text from pg_database
    where datname not in ('postgres', 'template0', 'template1', ${literal(database)})`)}
);
`

const targetSql = `select json_build_object(
  'major', current_setting('server_version_num')::int / 10000,
  'version', split_part(current_setting('server_version'), ' ', 1),
  'extensions', ${namesOf('select name::text from pg_available_extensions')},
  'collations', (select json_agg(${collationOf('l')}) from pg_collation l where l.collprovider <> 'd')
);
`

const contentSql = `select json_build_object(
  'bytes', pg_database_size(current_database()),
  'rows', (select coalesce(json_object_agg(t, c), '{}') from (
    select format('%I.%I', n.nspname, r.relname), (xpath('/row/c/text()',
      query_to_xml(format('select count(*) as c from only %I.%I', n.nspname, r.relname), false, true, '')))[1]::text::bigint
    from pg_class r join pg_namespace n on n.oid = r.relnamespace where r.relkind in ('r', 'm') and ${isOwn}) as found (t, c)),
  'sequences', (select coalesce(json_object_agg(format('%I.%I', schemaname, sequencename), last_value::text), '{}') from pg_sequences),
  'indexes', ${namesOf(`select format('%I.%I', n.nspname, c.relname) from pg_index i join pg_class c on c.oid = i.indexrelid
    join pg_namespace n on n.oid = c.relnamespace where i.indisvalid and i.indisready and ${isOwn}`)},
  'constraints', ${namesOf(`select format('%s on %s', c.conname, c.conrelid::regclass) from pg_constraint c
    join pg_namespace n on n.oid = c.connamespace where c.contype <> 'n' and c.convalidated and ${isOwn}`)},
  'extensions', ${namesOf('select extname::text from pg_extension')},
  'roles', ${namesOf(`select rolname::text from pg_roles where rolname not like 'pg\\_%'`)},
  'properties', (select json_build_object('encoding', pg_encoding_to_char(encoding), 'collate', datcollate, 'ctype', datctype)
    from pg_database where datname = current_database())
);
`
