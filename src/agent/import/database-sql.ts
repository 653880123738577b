import { hotCopySql } from '../../core/boxes/index.ts'

// Read-only queries for the database of a foreign chat server.

export const activitySql = `select coalesce(json_agg(json_build_object(
  'database', datname, 'user', usename, 'address', host(client_addr), 'port', client_port)), '[]')
from pg_stat_activity where backend_type = 'client backend' and datname is not null and pid <> pg_backend_pid();
`

const tables = [
  ...['users', 'rooms', 'events', 'event_json', 'devices', 'access_tokens', 'local_media_repository', 'current_state_events'],
  ...['schema_version', 'schema_compat_version', 'background_updates'],
]

export const databaseSql = `select json_build_object(
  'bytes', pg_database_size(current_database()),
  'version', split_part(current_setting('server_version'), ' ', 1),
  'encoding', pg_encoding_to_char((select encoding from pg_database where datname = current_database())),
  'missingTables', (select coalesce(json_agg(name order by name), '[]') from unnest(array[${tables.map((name) => `'${name}'`).join(', ')}]) name
    where to_regclass('public.' || name) is null),
  'otherSchemas', (select coalesce(json_agg(distinct schemaname), '[]') from pg_tables
    where schemaname not in ('public', 'pg_catalog', 'information_schema')),
  'unreadable', (select coalesce(json_agg(relname order by relname), '[]') from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S') and not has_table_privilege(oid, 'select')),
  'extensions', (select coalesce(json_agg(extname order by extname), '[]') from pg_extension where extname <> 'plpgsql'),
  'extensionUses', (select coalesce(json_agg(use order by use), '[]') from (
    select distinct pg_describe_object(used.classid, used.objid, used.objsubid) || ' uses the extension ' || extname as use
    from pg_depend used join pg_depend member on (member.classid, member.objid) = (used.refclassid, used.refobjid) and member.deptype = 'e'
    join pg_extension on pg_extension.oid = member.refobjid and member.refclassid = 'pg_extension'::regclass
    where extname <> 'plpgsql' and used.deptype <> 'e' and used.classid in ('pg_class'::regclass, 'pg_attrdef'::regclass,
      'pg_proc'::regclass, 'pg_rewrite'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass) and not exists (select from pg_depend own
      where (own.classid, own.objid) = (used.classid, used.objid) and own.deptype = 'e') limit 20) uses),
  'otherDatabases', (select coalesce(json_agg(datname order by datname), '[]') from pg_database
    where not datistemplate and datname not in ('postgres', current_database())),
  'dataFolder', (select setting from pg_settings where name = 'data_directory'),
  'systemId', (select system_identifier::text from pg_control_system()),
  'hotCopy', ${hotCopySql('current_user')},
  'locale', (select datcollate || ' and ' || datctype || case when provider = 'c' then '' else ' of provider ' || provider end
    from pg_database d, lateral (select coalesce(to_jsonb(d)->>'datlocprovider', 'c') as provider) as by
    where datname = current_database() and (datcollate, datctype, provider) <> ('C', 'C', 'c')),
  'ownObjects', (select coalesce(json_agg(found order by found), '[]') from (
    select 'event trigger ' || evtname as found from pg_event_trigger
    union all select 'template database ' || datname from pg_database where datistemplate and datname not in ('template0', 'template1')
    union all select 'prepared transaction ' || gid from pg_prepared_xacts
    union all select 'subscriptions' where exists (select from pg_stat_subscription)
    union all select 'foreign server ' || srvname from pg_foreign_server
    union all select 'large objects' where exists (select from pg_largeobject_metadata)
    union all select 'language ' || lanname from pg_language where lanname not in ('internal', 'c', 'sql', 'plpgsql')
    union all select 'function ' || proname || ' in ' || lanname from pg_proc join pg_language on pg_language.oid = prolang
      where lanname in ('internal', 'c') and pg_proc.oid >= 16384 and not exists (select from pg_depend
        where (classid, objid, deptype) = ('pg_proc'::regclass, pg_proc.oid, 'e'))
    union all select 'column ' || attrelid::regclass || '.' || attname || ' with a collation of its own' from pg_attribute
      join pg_class on pg_class.oid = attrelid where pg_class.oid >= 16384 and attcollation <> 0
      and attcollation not in (select oid from pg_collation where collname in ('default', 'C', 'POSIX') and collnamespace = 'pg_catalog'::regnamespace)
    limit 20) special));
`

/** The events of a large server are counted by the planner's statistics. */
export const chatSql = (serverName: string): string => `select json_build_object(
  'schemaVersion', (select max(version) from public.schema_version),
  'compatVersion', (select max(compat_version) from public.schema_compat_version),
  'backgroundUpdates', (select coalesce(json_agg(left(update_name, 200)), '[]') from public.background_updates),
  'rows', json_build_object(
    'users', (select count(*) from public.users), 'rooms', (select count(*) from public.rooms),
    'events', (select case when reltuples > 1000000 then reltuples::bigint else (select count(*) from public.events) end
      from pg_class where oid = 'public.events'::regclass),
    'devices', (select count(*) from public.devices), 'media', (select count(*) from public.local_media_repository)),
  'remoteMembers', (select count(*) from public.current_state_events where type = 'm.room.member' and membership = 'join'
    and substring(state_key from position(':' in state_key) + 1) <> '${serverName.replaceAll("'", "''")}'),
  'accountDomains', (select coalesce(json_agg(domain), '[]') from (
    select distinct substring(name from position(':' in name) + 1) as domain from public.users limit 20) named),
  'appservices', (select coalesce(json_agg(id), '[]') from (
    select distinct appservice_id as id from public.users where appservice_id is not null limit 20) owning));
`

/** More rows than this are checked by a random sample of as many. */
const maxChecked = 10_000

export const mediaSql = `with
  named as materialized (
    select media_id, media_length from public.local_media_repository where media_length is not null and url_cache is null),
  sample as (select * from named order by random() limit ${maxChecked})
select json_build_object('named', (select count(*) from named),
  'sample', (select coalesce(json_agg(media_id || ' ' || media_length), '[]') from sample));
`
