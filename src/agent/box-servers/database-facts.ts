import { z } from 'zod'
import { AppliedMigration, type BoxMigration, HotCopyFacts, hotCopySql } from '../../core/boxes/index.ts'
import { asJson, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, DatabaseFacts, LocalBox } from '../ports/index.ts'
import { type EngineBox, inspectBox } from './box-view.ts'
import { databaseLogin, lastLine, literal, psql, querySql } from './sql.ts'

/** Queries a table only if it exists, to avoid errors in the server's log. */
const ifThere = (table: string, query: string, path: string) =>
  `case when to_regclass('${table}') is not null then (xpath('/table/row/${path}/text()', query_to_xml('${query}', false, false, '')))::text[] end`

const factsSql = (superuser: string) => `select json_build_object(
  'bytes', pg_database_size(current_database()),
  'others', (select coalesce(json_agg(datname order by datname), '[]') from pg_database where datname not in ('postgres', 'template0', 'template1', current_database())),
  'tablespaces', (select coalesce(json_agg(spcname || ' in ' || pg_tablespace_location(oid) order by spcname), '[]') from pg_tablespace where spcname not in ('pg_default', 'pg_global')),
  'archive', current_setting('archive_mode'),
  'slots', (select coalesce(json_agg(slot_name order by slot_name), '[]') from pg_replication_slots),
  'altered', (select coalesce(json_agg(name order by name), '[]') from pg_settings where sourcefile like '%/postgresql.auto.conf'),
  'collation', (select datcollate from pg_database where datname = current_database()),
  'hot', ${hotCopySql(literal(superuser))},
  'system', (select system_identifier::text from pg_control_system()),
  'superuser', (select rolsuper from pg_roles where rolname = current_user),
  'schema', ${ifThere('public.schema_version', 'select version as v from public.schema_version', 'v')},
  'compat', ${ifThere('public.schema_compat_version', 'select compat_version as v from public.schema_compat_version', 'v')},
  'background', ${ifThere('public.background_updates', 'select left(update_name, 200) as n from public.background_updates order by update_name limit 100', 'n')},
  'progress', ${ifThere('public.background_updates', "select md5(string_agg(update_name || progress_json, '','' order by update_name)) as p from public.background_updates having count(*) > 0", 'p')},
  'migrations', ${ifThere('tenantry.box_migrations', "select head || '' '' || sha256 as m from tenantry.box_migrations order by head", 'm')}
);
`

const Texts = z.array(z.string()).nullable()
const Answer = z.object({
  bytes: z.number(),
  others: z.array(z.string()),
  tablespaces: z.array(z.string()).default([]),
  archive: z.string().default('off'),
  slots: z.array(z.string()).default([]),
  altered: z.array(z.string()).default([]),
  collation: z.string(),
  system: z.string().optional(),
  superuser: z.boolean(),
  hot: HotCopyFacts.nullable().default(null),
  schema: Texts,
  compat: Texts,
  background: Texts,
  progress: Texts.optional(),
  migrations: Texts,
})

/** Reads all facts with one query, because each query starts a process in the container. */
export async function databaseFacts(engine: ContainerEngine, box: LocalBox): Promise<DatabaseFacts | undefined> {
  const printed = await inspectBox(engine, box)
    .then(async (view) => querySql(engine, view, factsSql((await databaseLogin(engine, view)).superuser)))
    .catch(() => undefined)
  return printed === undefined ? undefined : readFacts(printed)
}

export function readFacts(printed: string): DatabaseFacts | undefined {
  const result = Answer.safeParse(asJson(printed))
  if (!result.success) return undefined
  const { bytes, others, collation, system, superuser, hot: hotCopy, schema, compat, background, progress, migrations } = result.data
  const { tablespaces, archive: archiveMode, slots: replicationSlots, altered: alteredSettings } = result.data
  const applied = z.array(AppliedMigration).safeParse((migrations ?? []).map(readApplied))
  if (!applied.success) return undefined
  return {
    bytes,
    systemId: system ?? null,
    otherDatabases: others,
    ...{ tablespaces, archiveMode, replicationSlots, alteredSettings },
    collation,
    schemaVersion: numberIn(schema),
    compatVersion: numberIn(compat),
    backgroundUpdates: background,
    backgroundProgress: progress?.[0] ?? null,
    migrations: applied.data,
    ownerIsSuperuser: superuser,
    hotCopy,
  }
}

const readApplied = (text: string) => {
  const [head, sha256] = text.split(' ')
  return { head, sha256 }
}

const numberIn = (texts: string[] | null): number | null => (texts?.[0] === undefined ? null : Number.parseInt(texts[0], 10))

/** Applies one migration and records it in the same transaction (spec 4.10). */
export async function applyMigration({ engine, box }: EngineBox, migration: BoxMigration, signal?: AbortSignal): Promise<void> {
  if (await isNoted(engine, box, migration)) return
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const { exitCode, stderr } = await psql({ engine, view, login, signal }, migrationSql(migration))
  if (exitCode === 0) return
  signal?.throwIfAborted()
  // A run of an agent that was restarted may have finished in the meantime.
  if (await isNoted(engine, box, migration)) return
  throw problem('UPDATE_FAILED', `Box migration ${migration.head}-${migration.name} failed in ${box.slug}: ${errorIn(stderr)}`)
}

async function isNoted(engine: ContainerEngine, box: LocalBox, { head, sha256 }: BoxMigration): Promise<boolean> {
  const facts = await databaseFacts(engine, box)
  return facts?.migrations.some((applied) => applied.head === head && applied.sha256 === sha256) ?? false
}

/** The record is inserted first, so that a concurrent run waits and then fails. */
const migrationSql = ({ head, name, sha256, sql }: BoxMigration): string => `begin;
set local client_min_messages = warning;
do $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    raise exception 'the role % is a superuser, and box migrations run as the owner of the database only', current_user;
  end if;
end
$$;
create schema if not exists tenantry;
create table if not exists tenantry.box_migrations (
  head text primary key,
  name text not null,
  sha256 text not null,
  applied_at timestamptz not null default now()
);
insert into tenantry.box_migrations (head, name, sha256) values (${literal(head)}, ${literal(name)}, ${literal(sha256)});
${sql}
;
commit;
`

/** The server's error line, without the position that psql prints after it. */
const errorIn = (stderr: string): string => (/(?:ERROR|FATAL):\s+.*/.exec(stderr)?.[0] ?? lastLine(stderr)).slice(0, 300)
